import { z } from 'zod'

/** What the process that fetches is told on its standard input: nobody else on this computer can read that. */
export const pullOrdersSchema = z.object({
  terms: z.object({
    login: z.object({ username: z.string(), password: z.string() }).nullable(),
    ca: z.string().nullable(),
  }),
  /** How much may be fetched. */
  roomBytes: z.number(),
})
export type PullOrders = z.infer<typeof pullOrdersSchema>
