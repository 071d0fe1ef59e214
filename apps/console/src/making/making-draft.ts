import type { CreationFile } from '@berth/contract/creations'
import { CREATION_PROMPT_CHARS_MAX } from '@berth/contract/limits'
import * as z from 'zod'
import { changeTabDraft, useTabDraft } from '../ui/use-tab-draft.ts'

/** What is typed may be too long: it is said then, and kept. */
const TYPED_CHARS_MAX = 10 * CREATION_PROMPT_CHARS_MAX

/** A picture that others are made after: kept by the gateway, and how it is called here. */
const pictureSchema = z.object({
  id: z.string(),
  url: z.string(),
  type: z.string(),
  bytes: z.number(),
  /** The name of its file, or the seed of the picture that it is. */
  name: z.string(),
})
/** A picture that something is made after. */
export type StartPicture = CreationFile & { name: string }

const typed = z.string().max(TYPED_CHARS_MAX).catch('')
const seed = z.union([z.number(), z.string().max(TYPED_CHARS_MAX)]).catch('')
const picture = pictureSchema.nullable().catch(null)

const draftSchema = z.object({
  prompt: typed,
  negative_prompt: typed,
  /** Empty: whichever. */
  seed,
  size: typed,
  count: z.number().catch(1),
  seconds: z.number().catch(0),
  image: picture,
  last_image: picture,
  mail: z.boolean().catch(false),
})

/** What was typed and chosen on a page of pictures or films, and not sent. */
export type MakingDraft = z.infer<typeof draftSchema>

const EMPTY_DRAFT: MakingDraft = {
  ...{ prompt: '', negative_prompt: '', seed: '', size: '', count: 1, seconds: 0 },
  ...{ image: null, last_image: null, mail: false },
}

/** @param name Of the page, under which the draft is kept. */
export function useMakingDraft(name: string) {
  return useTabDraft(name, draftSchema, EMPTY_DRAFT)
}

/** Puts something into the draft of another page, before it is opened. @param name Of that page. */
export function addToMakingDraft(name: string, part: Partial<MakingDraft>): void {
  changeTabDraft(name, draftSchema, EMPTY_DRAFT, part)
}

/** The one of a model's sizes that is chosen; its first where the chosen one is none of them. */
export function fittingSize(size: string, sizes: readonly string[]): string {
  return sizes.includes(size) ? size : (sizes[0] ?? '')
}
