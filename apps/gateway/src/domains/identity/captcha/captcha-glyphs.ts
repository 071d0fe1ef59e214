export interface Point {
  x: number
  y: number
}

/** A line without a gap; curves are given as many short pieces. */
export type Stroke = readonly Point[]

/** Points of a curve: enough that no corner is seen at the size of the picture. */
const CURVE_POINTS = 20

/** The strokes of each digit, in a box from 0 to 1 whose y grows downwards. */
export const GLYPHS: readonly (readonly Stroke[])[] = [
  [arc({ x: 0.5, y: 0.5 }, { x: 0.43, y: 0.5 }, 0, 360)],
  [line([0.2, 0.24], [0.56, 0], [0.56, 1])],
  [[...arc({ x: 0.49, y: 0.29 }, { x: 0.4, y: 0.29 }, 190, 395), ...line([0.08, 1], [0.94, 1])]],
  [
    arc({ x: 0.46, y: 0.25 }, { x: 0.37, y: 0.25 }, 205, 450),
    arc({ x: 0.46, y: 0.74 }, { x: 0.42, y: 0.26 }, 270, 515),
  ],
  [line([0.7, 1], [0.7, 0], [0.04, 0.7], [0.98, 0.7])],
  [
    [
      ...line([0.86, 0], [0.2, 0], [0.15, 0.46]),
      ...arc({ x: 0.47, y: 0.68 }, { x: 0.43, y: 0.32 }, 225, 505),
    ],
  ],
  [hook(), arc({ x: 0.5, y: 0.7 }, { x: 0.42, y: 0.3 }, 0, 360)],
  [line([0.06, 0], [0.94, 0], [0.36, 1])],
  [
    arc({ x: 0.5, y: 0.24 }, { x: 0.35, y: 0.24 }, 0, 360),
    arc({ x: 0.5, y: 0.74 }, { x: 0.43, y: 0.26 }, 0, 360),
  ],
  // A six, turned round.
  [hook().map(({ x, y }) => ({ x: 1 - x, y: 1 - y })), arc({ x: 0.5, y: 0.3 }, { x: 0.42, y: 0.3 }, 0, 360)],
]

function line(...corners: [number, number][]): Point[] {
  return corners.map(([x, y]) => ({ x, y }))
}

/** Clockwise from the right, in degrees. */
function arc(centre: Point, radius: Point, from: number, to: number): Point[] {
  return Array.from({ length: CURVE_POINTS + 1 }, (_, step) => {
    const angle = ((from + ((to - from) * step) / CURVE_POINTS) * Math.PI) / 180
    return { x: centre.x + radius.x * Math.cos(angle), y: centre.y + radius.y * Math.sin(angle) }
  })
}

/** The upper part of a six, down to where its bowl begins. */
function hook(): Point[] {
  const [start, pull, end] = line([0.78, 0], [0.16, 0.12], [0.08, 0.7]) as [Point, Point, Point]
  return Array.from({ length: CURVE_POINTS + 1 }, (_, step) => {
    const t = step / CURVE_POINTS
    const mix = (a: number, b: number, c: number) => (1 - t) ** 2 * a + 2 * (1 - t) * t * b + t ** 2 * c
    return { x: mix(start.x, pull.x, end.x), y: mix(start.y, pull.y, end.y) }
  })
}
