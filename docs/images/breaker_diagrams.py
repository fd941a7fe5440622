#!/usr/bin/env python3
"""Draws the timing diagrams of docs/guide/circuit-breaking.md: python3 docs/images/breaker_diagrams.py

Each is a row of calls (dots), the breaker's state below it (bars), and what there is to say (notes).
Times are seconds.
"""
import pathlib

SCALE, LEFT, TOP = 36, 90, 46
CALLS = {"ok": "#2e7d32", "failed": "#c62828", "slow": "#ef6c00", "refused": "#9e9e9e"}
STATES = {"CLOSED": "#c8e6c9", "OPEN": "#ffcdd2", "HALF_OPEN": "#fff9c4", "RAMP": "#dcedc8",
          "IN USE": "#c8e6c9", "EJECTED": "#ffcdd2", "WARMING": "#dcedc8"}


class Diagram:
    def __init__(self, title, seconds, rows=1):
        self.width, self.seconds = LEFT + seconds * SCALE + 40, seconds
        self.height = TOP + rows * 78 + 40
        self.parts = []
        self.kinds, self.unnamed = set(), set()  # for the legend: calls, and bars too short for a name
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


for draw in (fault_limit, rate, slow, half_open, ramp, instance, ejection, slow_start):
    draw()
