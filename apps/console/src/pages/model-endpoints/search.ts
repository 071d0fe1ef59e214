import * as z from 'zod'
import { findText } from '../../lists/use-filters.ts'

/** Orders of the models; `catalogue` is the operator's own. */
export const MODEL_SORTS = ['catalogue', 'price', 'context', 'name'] as const
export type ModelSort = (typeof MODEL_SORTS)[number]

/** Bounds what an address can hold: some dozens of short names. */
const CHOICES_CHARS_MAX = 1_000

/** Names with commas between them; empty: any. */
const choices = z.string().max(CHOICES_CHARS_MAX).catch('')

/** What the catalogue's address holds: all of it narrows or orders the rows; empty: any. */
export const catalogueSearch = z.object({
  q: findText,
  kind: choices,
  vendor: choices,
  can: choices,
  /** What a million tokens of answers cost at most, in units of currency. */
  price: z
    .string()
    .regex(/^\d{1,6}(\.\d{1,6})?$/)
    .or(z.literal(''))
    .catch(''),
  sort: z.enum(MODEL_SORTS).catch('catalogue'),
})
export type CatalogueSearch = z.infer<typeof catalogueSearch>

/** Nothing is narrowed but by what is searched for. */
export const NO_FILTERS = {
  kind: '',
  vendor: '',
  can: '',
  price: '',
} as const satisfies Partial<CatalogueSearch>

/** As long as the name of a model may be in a call. */
const MODEL_ID_CHARS_MAX = 200

/** Whose page the address is; empty: the catalogue's. */
export const modelSearch = z.object({ model: z.string().max(MODEL_ID_CHARS_MAX).catch('') })
