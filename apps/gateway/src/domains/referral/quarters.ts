const MONTHS = 3

/** A quarter of UTC: its name, such as `2026-Q4`, its first moment and the first one after it. */
export interface Quarter {
  name: string
  since: Date
  until: Date
}

/** The quarter of a moment. */
export function quarterAt(at: Date): Quarter {
  return spanOf(at.getUTCFullYear(), Math.floor(at.getUTCMonth() / MONTHS))
}

/** The quarter of a UTC day, such as `2026-11-27`. */
export function quarterOfDay(day: string): string {
  return quarterAt(new Date(`${day}T00:00:00Z`)).name
}

/** The quarter of that name; names sort as quarters follow each other. */
export function quarterNamed(name: string): Quarter {
  return spanOf(Number(name.slice(0, 4)), Number(name.slice(-1)) - 1)
}

/** The name of the quarter that follows one. */
export function quarterAfter(name: string): string {
  return quarterAt(quarterNamed(name).until).name
}

function spanOf(year: number, index: number): Quarter {
  return {
    name: `${year}-Q${index + 1}`,
    since: new Date(Date.UTC(year, index * MONTHS, 1)),
    until: new Date(Date.UTC(year, (index + 1) * MONTHS, 1)),
  }
}
