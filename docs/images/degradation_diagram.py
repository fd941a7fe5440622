#!/usr/bin/env python3
"""Draws the picture of docs/guide/degradation.md: python3 docs/images/degradation_diagram.py

A row of calls for each importance, and below them the level that an operator has set. Times are minutes.
"""
import pathlib

SCALE, LEFT, TOP, ROW = 36, 90, 46, 30
LEVELS = {"normal": "#c8e6c9", "degraded": "#fff9c4", "core-only": "#ffcdd2"}
# When each level begins, and what it leaves out.
COURSE = [(0, "normal", ()), (3, "degraded", ("optional",)),
          (7, "core-only", ("normal", "optional")), (11, "degraded", ("optional",)),
          (14, "normal", ())]
END = 17
IMPORTANCES = ("core", "normal", "optional")
HAS_FALLBACK = ("optional",)


def x(minute):
    return LEFT + minute * SCALE


def text(at, y, words, anchor="start", size=11, weight="normal"):
    return (f'<text x="{at:g}" y="{y:g}" text-anchor="{anchor}" font-size="{size}" '
            f'font-weight="{weight}">{words}</text>')


def mark(kind, at, y):
    if kind == "refused":
        return (f'<path d="M{at - 3:g} {y - 3:g} l6 6 m0 -6 l-6 6" stroke="#c62828" '
                f'stroke-width="1.6"/>')
    fill = {"sent": "#2e7d32", "fallback": "white"}[kind]
    return f'<circle cx="{at:g}" cy="{y:g}" r="3.6" fill="{fill}" stroke="#2e7d32" stroke-width="1.4"/>'


def main():
    width, height = LEFT + END * SCALE + 40, TOP + len(IMPORTANCES) * ROW + 70
    parts = [text(width / 2, 20, "an operator switches levels", "middle", 14, "bold")]
    for row, importance in enumerate(IMPORTANCES):
        y = TOP + row * ROW
        parts.append(text(LEFT - 10, y + 4, importance, "end"))
        for step in range(END * 2):
            minute = step / 2 + 0.25
            left_out = [out for start, _, out in COURSE if start <= minute][-1]
            kind = "sent"
            if importance in left_out:
                kind = "fallback" if importance in HAS_FALLBACK else "refused"
            parts.append(mark(kind, x(minute), y))
    y = TOP + len(IMPORTANCES) * ROW - 4
    parts.append(text(LEFT - 10, y + 14, "level", "end"))
    for (start, level, _), end in zip(COURSE, [start for start, _, _ in COURSE[1:]] + [END]):
        parts.append(f'<rect x="{x(start):g}" y="{y}" width="{(end - start) * SCALE:g}" height="20" '
                     f'fill="{LEVELS[level]}" stroke="#90a4ae"/>')
        parts.append(text(x((start + end) / 2), y + 14, level, "middle", 10))
    y = height - 16
    for at, (kind, words) in zip((0, 4, 9), (("sent", "sent to a provider"),
                                             ("fallback", "answered here by its fallback"),
                                             ("refused", "fails here: DEGRADED, with retry_after"))):
        parts.append(mark(kind, x(at) + 4, y - 4))
        parts.append(text(x(at) + 13, y, words, size=10))
    body = "\n".join(parts)
    pathlib.Path(__file__).with_name("degradation-levels.svg").write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height}" width="{width:g}" '
        f'height="{height}" font-family="sans-serif" fill="#263238">\n'
        f'<rect width="100%" height="100%" fill="white"/>\n{body}\n</svg>\n')


main()
