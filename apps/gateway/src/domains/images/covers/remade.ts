import type { FieldRule } from '@berth/contract/errors'
import * as z from 'zod'

/** What is kept of a picture: within so many pixels each way, and in so many bytes. */
export const KEPT_SIDE_PX_MAX = 1_200
export const KEPT_BYTES_MAX = 400_000

const RULES = ['cover_pixels', 'cover_too_small', 'cover_broken'] as const satisfies readonly FieldRule[]

/** The first line that the process writes which draws a picture anew; a WebP follows where it was drawn. */
export const remadeLine = z.union([
  z.object({
    width: z.number().int().min(1).max(KEPT_SIDE_PX_MAX),
    height: z.number().int().min(1).max(KEPT_SIDE_PX_MAX),
  }),
  z.object({ refused: z.enum(RULES) }),
])
export type Remade = z.infer<typeof remadeLine>
