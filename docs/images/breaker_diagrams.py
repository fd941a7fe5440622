#!/usr/bin/env python3
"""Draws the timing diagrams of docs/guide/circuit-breaking.md: python3 docs/images/breaker_diagrams.py

Each is a row of calls (dots) and health checks (diamonds), the state below it (bars), and what there is to say (notes).
Times are seconds.
"""
import pathlib

SCALE, LEFT, TOP = 36, 90, 46
CALLS = {"ok": "#2e7d32", "failed": "#c62828", "slow": "#ef6c00", "refused": "#9e9e9e"}
STATES = {"CLOSED": "#c8e6c9", "OPEN": "#ffcdd2", "HALF_OPEN": "#fff9c4", "RAMP": "#dcedc8",
          "IN USE": "#c8e6c9", "EJECTED": "#ffcdd2", "WARMING": "#dcedc8",
          "HEALTHY": "#c8e6c9", "UNHEALTHY": "#ffcdd2",
          "FORCED_OPEN": "#ef9a9a", "METRICS_ONLY": "#bbdefb"}
CHECKS = {"good": "#2e7d32", "bad": "#c62828"}


class Diagram:
    def __init__(self, title, seconds, rows=1):
        self.width, self.seconds = LEFT + seconds * SCALE + 40, seconds
        self.height = TOP + rows * 78 + 40
        self.parts = []
        # For the legend: calls, checks, and bars too short for a name.
        self.kinds, self.checked, self.unnamed = set(), set(), set()
        self.text(self.width / 2, 20, title, anchor="middle", size=14, weight="bold")

    def x(self, second):
        return LEFT + second * SCALE

    def text(self, x, y, text, anchor="start", size=11, weight="normal"):
        self.parts.append(f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-size="{size}" '
                          f'font-weight="{weight}">{text}</text>')

    def calls(self, kind, times, row=0):
        self.kinds.add(kind)
        for time in times:
            y = TOP + row * 78 + 8
            if kind == "refused":
                x = self.x(time)
                self.parts.append(f'<path d="M{x - 3:g} {y - 3} l6 6 m0 -6 l-6 6" '
                                  f'stroke="{CALLS[kind]}" stroke-width="1.6"/>')
            else:
                self.parts.append(f'<circle cx="{self.x(time):g}" cy="{y}" r="3.6" '
                                  f'fill="{CALLS[kind]}"/>')

    def diamond(self, x, y, kind):
        self.parts.append(f'<path d="M{x:g} {y - 5:g} l5 5 l-5 5 l-5 -5 z" fill="white" '
                          f'stroke="{CHECKS[kind]}" stroke-width="1.8"/>')

    def checks(self, kind, times, row=0):
        self.checked.add(kind)
        for time in times:
            self.diamond(self.x(time), TOP + row * 78 + 8, kind)

    def span(self, kind, start, end, lift=0):
        self.kinds.add(kind)
        y = TOP + 8 - lift
        self.parts.append(f'<circle cx="{self.x(start):g}" cy="{y}" r="3.6" fill="{CALLS[kind]}"/>')
        self.parts.append(f'<line x1="{self.x(start):g}" y1="{y}" x2="{self.x(end):g}" y2="{y}" '
                          f'stroke="{CALLS[kind]}" stroke-width="2"/>')

    def states(self, name, changes, row=0):
        y = TOP + row * 78 + 22
        self.text(LEFT - 10, y + 14, name, anchor="end")
        ends = [start for start, _ in changes[1:]] + [self.seconds]
        for (start, state), end in zip(changes, ends):
            self.parts.append(f'<rect x="{self.x(start):g}" y="{y}" '
                              f'width="{(end - start) * SCALE:g}" height="20" '
                              f'fill="{STATES[state]}" stroke="#90a4ae"/>')
            if (end - start) * SCALE > 7 * len(state):
                self.text(self.x((start + end) / 2), y + 14, state, anchor="middle", size=10)
            else:
                self.unnamed.add(state)

    def bracket(self, start, end, text, row=0):
        y = TOP + row * 78 + 50
        self.parts.append(f'<path d="M{self.x(start):g} {y} v4 H{self.x(end):g} v-4" fill="none" '
                          f'stroke="#455a64"/>')
        self.text(self.x((start + end) / 2), y + 16, text, anchor="middle", size=10)

    def save(self, name):
        y = self.height - 12
        x = LEFT
        for kind, word in (("ok", "succeeds"), ("failed", "fails"), ("slow", "slow"),
                           ("refused", "refused")):
            if kind not in self.kinds:
                continue
            if kind == "refused":
                self.parts.append(f'<path d="M{x - 3} {y - 7} l6 6 m0 -6 l-6 6" '
                                  f'stroke="{CALLS[kind]}" stroke-width="1.6"/>')
            else:
                self.parts.append(f'<circle cx="{x}" cy="{y - 4}" r="3.6" fill="{CALLS[kind]}"/>')
            self.text(x + 9, y, word, size=10)
            x += 74
        for kind, word in (("good", "good check"), ("bad", "failed check")):
            if kind not in self.checked:
                continue
            self.diamond(x, y - 4, kind)
            self.text(x + 9, y, word, size=10)
            x += 92
        for state in sorted(self.unnamed):
            self.parts.append(f'<rect x="{x - 4}" y="{y - 9}" width="10" height="10" '
                              f'fill="{STATES[state]}" stroke="#90a4ae"/>')
            self.text(x + 11, y, state, size=10)
            x += 90
        body = "\n".join(self.parts)
        path = pathlib.Path(__file__).with_name(name)
        path.write_text(
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width:g} {self.height}" '
            f'width="{self.width:g}" height="{self.height}" font-family="sans-serif" '
            f'fill="#263238">\n<rect width="100%" height="100%" fill="white"/>\n{body}\n</svg>\n')


def fault_limit():
    d = Diagram("faultLimit: 5, windowSize: 10s", 16)
    d.calls("failed", [0.5, 4, 7, 9, 9.8, 11])
    d.calls("ok", [1.5, 2.5, 3.2, 5, 6, 8, 10.3])
    d.calls("refused", [11.6, 12.3, 13, 14, 15])
    d.states("breaker", [(0, "CLOSED"), (11, "OPEN")])
    d.bracket(1, 11, "five failures younger than 10 s; the one at 0.5 s no longer counts")
    d.save("breaker-fault-limit.svg")


def rate():
    d = Diagram("failureRate: 50, minimumCalls: 6", 14)
    d.calls("failed", [0.5, 1.2, 4, 5, 5.7])
    d.calls("ok", [2, 2.8, 3.4, 6.3])
    d.calls("refused", [7, 8, 9, 10, 11, 12, 13])
    d.states("breaker", [(0, "CLOSED"), (5.7, "OPEN")])
    d.bracket(0, 3.8, "too few to judge by")
    d.bracket(4.1, 7.6, "5 of 8 failed", 0)
    d.save("breaker-rate.svg")


def slow():
    d = Diagram("slowCallRate: 50, slowCallDuration: 2s, minimumCalls: 4", 14)
    d.calls("ok", [0.5, 1.2])
    for lift, start in ((0, 2), (6, 2.6), (12, 3.2)):
        d.span("slow", start, start + 2.9, lift)
    d.calls("refused", [6.6, 7.3, 8, 9, 10, 11, 12, 13])
    d.states("breaker", [(0, "CLOSED"), (4.6, "OPEN")])
    d.bracket(2, 4.6, "two hang for longer than 2 s: half of the four that count")
    d.save("breaker-slow.svg")


def half_open():
    d = Diagram("halfOpenInitialDelay: 4s, halfOpenDelay: 2s, halfOpenDelayFactor: 2", 17)
    d.calls("failed", [0.4, 5, 7.2])
    d.calls("ok", [11.6, 12.4, 13.2, 14, 15, 16])
    d.calls("refused", [1.5, 2.5, 3.5, 4.5, 5.8, 6.5, 8, 9, 10, 11])
    d.states("breaker", [(0, "CLOSED"), (0.4, "OPEN"), (4.8, "HALF_OPEN"), (5, "OPEN"),
                         (7, "HALF_OPEN"), (7.2, "OPEN"), (11.2, "HALF_OPEN"), (11.6, "CLOSED")])
    d.bracket(0.4, 4.8, "4 s")
    d.bracket(5, 7, "2 s")
    d.bracket(7.2, 11.2, "4 s, and 8 s next")
    d.save("breaker-half-open.svg")


def ramp():
    d = Diagram("rampUp: 8s, rampUpFrom: 10", 15)
    d.calls("ok", [1.4])
    d.calls("refused", [0.4, 0.9])
    credit, time = 0.9, 1.6
    while time < 14.6:
        share = min(1, 0.1 + 0.9 * (time - 1.5) / 8)
        credit += share
        admitted = credit >= 1
        credit -= admitted
        d.calls("ok" if admitted else "refused", [time])
        time += 0.4
    d.states("breaker", [(0, "OPEN"), (1.2, "HALF_OPEN"), (1.5, "RAMP"), (9.5, "CLOSED")])
    d.bracket(1.5, 9.5, "the share let through grows from 10 % to all")
    d.save("breaker-ramp.svg")


def instance():
    d = Diagram("scope: instance, faultLimit: 2", 15, rows=2)
    d.calls("failed", [0.4, 1.6])
    d.calls("ok", [10, 11.2, 12.4, 13.6])
    d.states("instance a", [(0, "CLOSED"), (1.6, "OPEN"), (9.8, "HALF_OPEN"), (10.2, "CLOSED")])
    d.bracket(1.6, 9.8, "no call comes here, and none is refused")
    d.calls("ok", [1, 2.2], 1)
    d.calls("ok", [2.8 + 0.6 * i for i in range(12)], 1)
    d.calls("ok", [10.6, 11.8, 13, 14.2], 1)
    d.states("instance b", [(0, "CLOSED")], 1)
    d.save("breaker-instance.svg")


def ejection():
    d = Diagram("ejectOn: consecutiveErrors, threshold: 3, interval: 2s, baseEjectionTime: 5s", 17, rows=2)
    d.calls("ok", [0.3])
    d.calls("failed", [0.9, 1.5, 2.1])
    d.calls("ok", [8.6 + 0.6 * i for i in range(14)])
    d.states("instance a", [(0, "IN USE"), (2.1, "EJECTED"), (8, "IN USE")])
    d.bracket(2.1, 7.1, "5 s, next time longer")
    d.bracket(7.1, 8, "until the next look", 0)
    d.calls("ok", [0.6, 1.2, 1.8], 1)
    d.calls("ok", [2.4 + 0.3 * i for i in range(20)], 1)
    d.calls("ok", [8.3 + 0.6 * i for i in range(14)], 1)
    d.states("instance b", [(0, "IN USE")], 1)
    d.bracket(2.1, 8, "takes its calls meanwhile: an ejection refuses none", 1)
    d.save("outlier-ejection.svg")


def slow_start():
    d = Diagram("slowStart.window: 10s, minWeightPercent: 10", 17, rows=2)
    turns, time = 0.9, 0.4
    while time < 16.8:
        share = 0 if time < 2 else min(1, max(0.1, (time - 2) / 10))
        turns += share
        taken = share > 0 and turns >= 1
        turns -= taken
        # The calls come two by two: one is a's turn, the other b's, who may leave it to a.
        d.calls("ok", [time], 1 if taken else 0)
        d.calls("ok", [time + 0.2], 0)
        time += 0.4
    d.states("instance a", [(0, "IN USE")])
    d.states("instance b", [(2, "WARMING"), (12, "IN USE")], 1)
    d.bracket(2, 12, "a turn in ten at first, then more and more; the others go to a", 1)
    d.save("slow-start.svg")


def consecutive_failures():
    d = Diagram("tripOn: consecutiveFailures, consecutiveFailures: 3", 17)
    d.calls("failed", [0.5, 1.5, 4, 8.5, 13.5])
    d.calls("ok", [2.6])
    d.calls("refused", [14.3, 15, 15.8, 16.5])
    d.states("breaker", [(0, "CLOSED"), (13.5, "OPEN")])
    d.bracket(0.5, 2.6, "a success forgets them")
    d.bracket(4, 13.5, "three in a row, however far apart")
    d.save("breaker-consecutive.svg")


def by_hand():
    d = Diagram("ForceBreaker: FORCED_OPEN and METRICS_ONLY, faultLimit: 3", 17, rows=2)
    d.calls("ok", [0.6 + 0.8 * i for i in range(5)])
    d.calls("refused", [4.6 + 0.8 * i for i in range(8)])
    d.calls("ok", [11.2 + 0.8 * i for i in range(7)])
    d.states("breaker", [(0, "CLOSED"), (4.2, "FORCED_OPEN"), (10.8, "CLOSED")])
    d.bracket(4.2, 10.8, "whatever its calls were like, until somebody says CLOSED")
    d.calls("ok", [0.6, 1.4, 4.2, 6.6, 8.2], 1)
    d.calls("failed", [2.2, 3, 3.6, 5, 5.8, 7.4, 9.4, 11.6, 12.6, 13.8], 1)
    d.calls("refused", [14.6, 15.4, 16.2], 1)
    d.states("breaker", [(0, "METRICS_ONLY"), (10.4, "CLOSED"), (13.8, "OPEN")], 1)
    d.bracket(2.2, 9.4, "counts and shows failures, refuses nothing", 1)
    d.bracket(10.4, 13.8, "counts anew", 1)
    d.save("breaker-by-hand.svg")


def health_check():
    d = Diagram("healthCheck.interval: 2s, unhealthyThreshold: 2, healthyThreshold: 1", 17, rows=2)
    d.calls("ok", [0.6, 1.4, 2.6, 3.4])
    d.calls("failed", [4.6, 5.4])
    d.calls("ok", [12.9, 13.7, 15, 15.6])
    d.checks("good", [0.2, 2.1, 12.2, 14.3, 16.2])
    d.checks("bad", [4.1, 6.2, 8.2, 10.1])
    d.states("instance a", [(0, "HEALTHY"), (6.2, "UNHEALTHY"), (12.2, "HEALTHY")])
    d.bracket(4.1, 6.2, "two in a row")
    d.bracket(6.2, 12.2, "it is asked all the same, and gets no call")
    d.calls("ok", [1, 1.8, 3, 3.8, 5, 5.8], 1)
    d.calls("ok", [6.6 + 0.4 * i for i in range(4)], 1)
    d.calls("ok", [8.5 + 0.4 * i for i in range(4)], 1)
    d.calls("ok", [10.6 + 0.4 * i for i in range(4)], 1)
    d.calls("ok", [12.6, 13.3, 14, 14.8, 15.3], 1)
    d.checks("good", [0.1, 2.2, 4.4, 6.3, 8.2, 10.3, 12.3, 14.4, 16.3], 1)
    d.states("instance b", [(0, "HEALTHY")], 1)
    d.save("health-check.svg")


def active_probe():
    d = Diagram("faultLimit: 2, activeProbe: true, halfOpenInitialDelay: 4s, halfOpenDelay: 3s", 17)
    d.calls("failed", [0.5, 1.2])
    d.calls("ok", [13.4, 15])
    d.checks("bad", [5.2])
    d.checks("good", [8.5])
    d.states("instance a", [(0, "CLOSED"), (1.2, "OPEN"), (5.2, "HALF_OPEN"), (5.5, "OPEN"),
                            (8.5, "HALF_OPEN"), (8.8, "CLOSED")])
    d.bracket(1.2, 5.2, "4 s without a call")
    d.bracket(5.5, 8.5, "3 s")
    d.bracket(8.8, 13.4, "closed before anybody calls")
    d.save("breaker-active-probe.svg")


for draw in (fault_limit, rate, slow, half_open, ramp, instance, ejection, slow_start, consecutive_failures, by_hand,
             health_check, active_probe):
    draw()
