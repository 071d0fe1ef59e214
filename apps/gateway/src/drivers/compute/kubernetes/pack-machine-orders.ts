import { z } from 'zod'
import { pullOrdersSchema } from '../oci/pull-orders.ts'

/** What the process is told that makes an image's layer of a machine of a cluster. */
export const packMachineOrdersSchema = z.object({
  cluster: z.union([
    z.object({ kind: z.literal('kubeconfig'), file: z.string(), context: z.string().nullable() }),
    z.object({ kind: z.literal('in_cluster') }),
  ]),
  /** Its image: where it is fetched from. */
  base: pullOrdersSchema.extend({ reference: z.string() }),
  /** A folder for what is made. */
  folder: z.string(),
  /** The machine's pod; null of one that never ran, which has nothing over its image. */
  machine: z
    .object({
      namespace: z.string(),
      pod: z.string(),
      since_s: z.number(),
      home: z.string(),
      mounts: z.array(z.string()),
      bytes_max: z.number(),
    })
    .nullable(),
})
export type PackMachineOrders = z.infer<typeof packMachineOrdersSchema>

/** The file in that folder which says what was made. */
export const MADE_FILE = 'made.json'
