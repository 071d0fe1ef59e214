/** Drivers that make machines of any registry's images, and the part of a recipe that each takes. */
const PART_OF: Readonly<Record<string, (reference: string) => unknown>> = {
  docker: reference => reference,
  kubernetes: reference => reference,
  sandbox: reference => ({ image: reference }),
}

/**
 * The parts of a recipe for an image that is known by its reference alone.
 * @param reference As `parseReference` takes it.
 */
export function partsOfReference(reference: string): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(PART_OF).map(([driver, part]) => [driver, part(reference)]))
}
