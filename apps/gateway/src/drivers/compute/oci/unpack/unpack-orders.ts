/** What is to be laid into a machine's root, and what it may take. */
export interface UnpackOrders {
  /** From the lowest on, where they are within the walls. */
  layers: {
    path: string
    packing: 'plain' | 'gzip' | 'zstd'
    /** What its bytes are when they are unpacked, as `sha256:<hex>`. */
    diff_id: string
  }[]
  bytes_max: number
  files_max: number
  /** Files that each machine has of its own, by their paths. */
  files: Record<string, string>
  /** As the image says it. */
  user: string
  working_dir: string
}

/** What it has come to. */
export interface UnpackAnswer {
  /** Who the image's programs are to be. */
  user: { uid: number; gid: number; name: string; home: string }
}
