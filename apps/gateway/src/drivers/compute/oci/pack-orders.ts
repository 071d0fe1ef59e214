import { z } from 'zod'

/** What a machine has changed of its image, to be made a layer of. */
export const packOrdersSchema = z.object({
  /** Becomes a program that writes an archive of the changed files, as the computer's own users have them. */
  argv: z.array(z.string()).min(1),
  /** The new layer; what it is stands beside it, in a file that ends with `.json`. */
  out: z.string(),
  /** The machine's users: the first one's id here, and how many there are. All others are root. */
  users: z.object({ first: z.int(), count: z.int() }),
  /** Paths that are of the machine and not of what it stores. */
  left_out: z.array(z.string()),
  /** Packed layers of the image that are to lie below as what they hold, since older engines cannot unpack them. */
  unpacked: z.array(z.object({ from: z.string(), out: z.string(), diff_id: z.string() })),
  /** Of each layer. */
  bytes_max: z.number(),
  files_max: z.int(),
  /** What the disk is to have left. */
  kept_bytes: z.number(),
})
export type PackOrders = z.infer<typeof packOrdersSchema>

/** The layer that was made. */
export const packedLayerSchema = z.object({ digest: z.string(), size: z.int() })
export type PackedLayer = z.infer<typeof packedLayerSchema>
