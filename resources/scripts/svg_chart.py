# SPDX-License-Identifier: Apache-2.0
"""Parts of the SVG charts that growth.py and comparison.py draw."""

INK, FAINT, GRID = "#1f2328", "#57606a", "#d8dee4"


def marker(shape, x, y, color):
    size = 4.5
    if shape == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size}" fill="{color}"/>'
    if shape == "cross":
        return (f'<path d="M{x - size:.1f} {y - size:.1f}L{x + size:.1f} {y + size:.1f}'
                f'M{x - size:.1f} {y + size:.1f}L{x + size:.1f} {y - size:.1f}" stroke="{color}" stroke-width="2.4"/>')
    corners = {
        "square": ((-1, -1), (1, -1), (1, 1), (-1, 1)),
        "triangle": ((0, -1.2), (1.15, 0.9), (-1.15, 0.9)),
        "diamond": ((0, -1.35), (1.35, 0), (0, 1.35), (-1.35, 0)),
    }[shape]
    points = " ".join(f"{x + size * dx:.1f},{y + size * dy:.1f}" for dx, dy in corners)
    return f'<polygon points="{points}" fill="{color}"/>'


def text(x, y, content, size=13, color=INK, anchor="start", extra=""):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{color}" text-anchor="{anchor}"{extra}>'
            f'{content}</text>')


def begin(width, height, title):
    return [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" font-family="system-ui, Helvetica, Arial, sans-serif">',
            f"<title>{title}</title>", f'<rect width="{width}" height="{height}" fill="#ffffff"/>']


def save(lines, path):
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join([*lines, "</svg>"]) + "\n")
