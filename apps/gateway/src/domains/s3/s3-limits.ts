/** Every bound of S3 access. */
export const S3_LIMITS = {
  /** S3's own: a key in bytes of UTF-8, and one name of a file on Linux. */
  keyBytesMax: 1_024,
  nameBytesMax: 255,
  /** S3's own: one put, one part, all of an object by parts, and parts. */
  putBytesMax: 5 * 1024 ** 3,
  objectBytesMax: 5 * 1024 ** 4,
  partBytesMin: 5 * 1024 ** 2,
  partsMax: 10_000,
  /** S3's own: what a list gives at once, and what one call deletes. */
  listKeysMax: 1_000,
  deleteKeysMax: 1_000,
  /** S3's own: names and values of x-amz-meta- together. */
  metadataBytesMax: 2_048,
  /** A line and all headers of a request. */
  headerBytesMax: 16 * 1024,
  /** A thousand keys to delete, or ten thousand parts. */
  xmlBytesMax: 2 * 1024 ** 2,
  /** Ten thousand parts with three things said of each; and names of the standard, which attributes say. */
  xmlTagsMax: 85_000,
  xmlAttributesMax: 64,
  /** The line before a chunk, and all trailers. */
  chunkLineBytesMax: 512,
  trailerBytesMax: 4_096,
  /** S3's own: how far a request's time may be from ours, and the longest life of a presigned URL. */
  skewMs: 15 * 60_000,
  presignedSecondsMax: 7 * 24 * 3_600,
  /** Requests of one customer that are under way, over all keys. Connections on which none is are bounded by address. */
  requestsPerUserMax: 64,
  /** Nothing came, or nothing was taken, for so long. */
  idleMs: 60_000,
  /** A body for an outer server comes no slower than this, over so long: it is held, or a connection is. */
  leastBytesPerS: 1_000,
  leastRateMs: 60_000,
  /** Bodies that are held for outer servers, of all customers and of one; and how long one waits for room. */
  heldBytesMax: 256 * 1024 ** 2,
  heldBytesPerUserMax: 96 * 1024 ** 2,
  /** Requests for outer servers that are worked on, of all customers and of one; the others wait. */
  outerRequestsMax: 256,
  outerRequestsPerUserMax: 16,
  outerWaitMs: 20_000,
  /** Uploads of a volume that are open, and how long one that is not completed is kept. */
  uploadsMax: 1_000,
  /** What their parts take is counted anew after this long. */
  uploadBytesKnownMs: 600_000,
  uploadKeptMs: 7 * 24 * 3_600_000,
  /** Files that a kill left half written are removed after this long without a change. */
  leftoverMs: 24 * 3_600_000,
  /** Names that one list looks at before it answers with what it has, and the next call goes on. */
  listLooksMax: 20_000,
  /** Folders from which on a list is deep, and the handles that all lists may hold of those. */
  listFreeDepth: 16,
  listDeepHandlesMax: 1_200,
  /** What is known of a key, and of a volume, is asked again after this long; a change is told at once. */
  knownMs: 5_000,
  /** Keys, and volumes, that are known at once; the oldest goes. */
  knownMax: 1_000,
  /** Keys that are asked for at once: strangers make some up. */
  keysAskedMax: 64,
  /** While parts are put together nothing is known yet; the client is told that somebody is there. */
  keepAliveMs: 5_000,
} as const
export type S3Limits = { readonly [Name in keyof typeof S3_LIMITS]: number }
