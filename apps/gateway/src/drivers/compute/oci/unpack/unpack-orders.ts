/** What is to be laid into a root, and what it may take. */
export interface UnpackOrders {
  /** From the lowest on, where they are within the walls. */
  layers: {
    path: string
    packing: 'plain' | 'gzip' | 'zstd'
    /** What its bytes are when they are unpacked, as `sha256:<hex>`. */
    diff_id: string
  }[]
  bytes_max: number
  /** What the disk is to have left, whoever else fills it meanwhile. */
  kept: { bytes: number; files: number }
  files_max: number
  /** How many users there are whose files can be laid; null where all are to be one user's. */
  users: number | null
  /** Empty files that machines have something of their own in, by their paths. */
  files: string[]
  /** As the image says it. */
  user: string
  working_dir: string
}

/** What it writes, a line each: how far it is, in packed bytes, from time to time. */
export interface UnpackProgress {
  bytes_done: number
}

/** What it has come to. */
export interface UnpackAnswer {
  /** Who the image's programs are to be. */
  user: { uid: number; gid: number; name: string; home: string }
}

/** Why it came to nothing. */
export interface UnpackFailure {
  failed: string
  /** Whether the disk is full, the image is not what it says, or it is none that can be laid. */
  why: 'no_room' | 'damaged' | 'unfit'
}
