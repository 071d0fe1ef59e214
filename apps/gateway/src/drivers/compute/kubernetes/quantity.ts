const FACTORS: Readonly<Record<string, number>> = {
  ...{ '': 1, m: 1e-3, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15 },
  ...{ Ki: 1024, Mi: 1024 ** 2, Gi: 1024 ** 3, Ti: 1024 ** 4, Pi: 1024 ** 5 },
}

/** A quantity as the API writes it, such as `1500m` or `64Gi`; 0 for none. */
export function quantity(text: string | undefined): number {
  const [, number, suffix = ''] = /^([0-9.]+(?:e[0-9]+)?)([A-Za-z]*)$/.exec(text ?? '') ?? []
  return number === undefined ? 0 : Number(number) * (FACTORS[suffix] ?? 1)
}
