import { z } from 'zod'

/** What the disk has for images. */
export const roomSchema = z.object({
  /** How much may be fetched, as the disk is now. */
  freeBytes: z.number(),
  /** What it is to have left, whoever else fills it meanwhile. */
  kept: z.object({ bytes: z.number() }),
})
export type ImageRoom = z.infer<typeof roomSchema>

/** What the process that fetches is told on its standard input: nobody else on this computer can read that. */
export const pullOrdersSchema = z.object({
  terms: z.object({
    login: z.object({ username: z.string(), password: z.string() }).nullable(),
    ca: z.string().nullable(),
    also: z.array(z.string()).readonly(),
    is_stranger: z.boolean().optional(),
  }),
  room: roomSchema,
})
export type PullOrders = z.infer<typeof pullOrdersSchema>
