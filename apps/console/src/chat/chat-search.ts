import * as z from 'zod'

/** Models that answer side by side: more than four columns nobody reads at once. */
export const SIDE_BY_SIDE_MAX = 4
const ID_CHARS_MAX = 200

/** What a chat keeps in its address: the ids of its models, with commas between them. */
export const chatSearch = z.object({
  model: z
    .string()
    .max(SIDE_BY_SIDE_MAX * (ID_CHARS_MAX + 1))
    .catch(''),
})

/**
 * The models that an address names, each once (R5.10).
 * @param named As the address has them; those that are not there are left out.
 * @param models Those that there are.
 * @param most How many there may be.
 * @returns The first of all where it names none.
 */
export function chosenModels<One extends { id: string }>(
  named: string,
  models: readonly One[],
  most: number,
): readonly One[] {
  const ids = [...new Set(named.split(','))]
  const found = ids.flatMap(id => models.find(one => one.id === id) ?? []).slice(0, most)
  return found.length > 0 ? found : models.slice(0, 1)
}

/**
 * The ids that an address names and that no model has: they are said, rather than left out in silence.
 * @param named As the address has them.
 * @param models Those that there are.
 */
export function missingModels(named: string, models: readonly { id: string }[]): readonly string[] {
  const ids = [...new Set(named.split(','))]
  return ids.filter(id => id !== '' && !models.some(one => one.id === id))
}
