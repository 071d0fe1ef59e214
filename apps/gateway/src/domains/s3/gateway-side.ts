/** What the S3 server asks of its gateway, which alone knows keys, volumes and customers. */
export interface GatewaySide {
  /**
   * Whose a key is and which volume it reaches; null where it is none, or is over. Nothing that is asked for by whoever can
   * merely name a key costs more than two rows of the database.
   * @param asked The day and region that a request was signed for: what comes back signs that and nothing else.
   */
  findKey(asked: { accessKeyId: string; date: string; region: string }): Promise<KnownKey | null>
  /**
   * What there is of a volume, which may take an engine to say: ask for those whose signature holds. Null where it is gone.
   */
  findVolume(asked: { userId: string; volumeId: string }): Promise<KnownVolume | null>
  /** A key was used. @param from The address that the request came from. */
  noteUse(accessKeyId: string, from: string): void
}

/** A key, and which volume it reaches. */
export interface KnownKey {
  userId: string
  /** The volume's id. */
  bucket: string
  region: string
  /** Signs requests of the day and region that was asked for. */
  signingKey: Uint8Array
  access: 'read_write' | 'read_only'
  /** When it ends by itself, in milliseconds; null: it does not. */
  endsMs: number | null
}

/** What a volume is to requests now. */
export interface KnownVolume {
  /** When it was made, in milliseconds. */
  bucketMadeMs: number
  /** The folder with what the volume holds, the bucket that it is, the gateway that reaches it, or why nobody does. */
  place: { path: string } | { outer: OuterVolume } | { gatewayId: string } | { why: string }
  /** It is read and not written: nothing is left to pay for it, or it holds more than its size. */
  isReadOnly: boolean
  /** It is so for what it holds alone: objects may be removed. */
  isOnlyOverSize: boolean
  /** What it held when it was counted last, and when that was, in milliseconds; null: it never was. */
  counted: { bytes: number; atMs: number } | null
  /** What the volume is to hold at most. */
  bytesMax: number
}

/** A volume that is a bucket of an outer server. */
export interface OuterVolume {
  endpoint: string
  region: string
  bucket: string
  accessKeyId: string
  /** What signs requests to it, by the day: of today, and of tomorrow, which may begin while this is known. */
  signingKeys: Readonly<Record<string, Uint8Array>>
}

/** The gateway's log. */
export type S3Log = (level: 'warn' | 'error', about: Record<string, unknown>, text: string) => void
