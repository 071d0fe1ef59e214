/**
 * The port of the store of images: one for an installation, in which images are kept as OCI image layouts by the digest
 * of their manifest, each blob once however many images name it. What is in it is made on one engine (`OwnImages.save`)
 * and brought to another of its kind (`OwnImages.load`); the archives are the same.
 */
export interface LayoutStore {
  /** `layout`, `registry` or `bucket`. */
  readonly name: string

  /**
   * Keeps the image of an archive. Blobs that are here already are checked all the same and not written again. The image
   * is here in whole when the call returns, on the disk, and not at all before: whoever dies, gives up or sends what
   * is refused leaves nothing that anybody sees, and what it had begun is removed later. Here already: the same answer, with
   * `new_bytes` 0.
   * @param archive As `OwnImages.save` gives it: a tar with the index before the manifest, and that before what it names.
   * Read no faster than it is kept, and told to end where it is refused.
   * @param onDigest Told by which digest the image will be known, when all of it has come and before anybody sees it, and
   * waited for: who writes it down can have it removed, whoever dies next. What it throws ends the call, and nothing is
   * kept.
   * @throws LayoutStoreError; what `archive` and `onDigest` throw.
   */
  put(
    archive: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
    onDigest?: (digest: string) => Promise<void>,
  ): Promise<KeptImage>

  /**
   * The archive of an image. Of one that is removed while it is read, the rest comes all the same from a folder, and
   * breaks off from a registry or a bucket.
   * @param digest Of its manifest, as `put` gave it.
   * @returns Its bytes, made no faster than they are read; nothing is opened before, or stays open after.
   * Reading fails with LayoutStoreError, `not_found` where it is not here.
   */
  get(digest: string, signal: AbortSignal): AsyncIterable<Uint8Array>

  /**
   * Forgets an image, and removes the blobs that no other one names; what a `put` under way has found here stays for it.
   * Not here: returns. Told again after a crash, it does what was left.
   * @returns How many bytes went; a registry frees them when it collects its garbage.
   * @throws LayoutStoreError.
   */
  remove(digest: string): Promise<{ freed_bytes: number }>

  /**
   * What is really kept, each blob counted once.
   * @throws LayoutStoreError.
   */
  sizes(): Promise<KeptSizes>
}

export interface KeptImage {
  /** Of its manifest, `sha256:` with 64 hexadecimal digits: by which `get` and `remove` know it. */
  digest: string
  /** All that it names, each blob once, and its manifest. */
  size_bytes: number
  /** As much of that as was not here before. */
  new_bytes: number
}

export interface KeptSizes {
  /** Of all blobs of all images. */
  bytes: number
  /** By the images' digests. */
  images: ReadonlyMap<string, KeptImageSize>
}

export interface KeptImageSize {
  /** All that it names. */
  size_bytes: number
  /** As much of that as no other image names: what would go with it. */
  own_bytes: number
}

export type LayoutStoreErrorCode =
  /** No image of that digest. Final. */
  | 'not_found'
  /** Bytes are not those that their digest or size says, in the archive or in the store. Final. */
  | 'damaged'
  /** The archive ends before all of it was there. Sent again in whole it may do. */
  | 'cut'
  /** The archive is no layout of one image. Final. */
  | 'unfit'
  /** It has more bytes or layers than may be. Final. */
  | 'too_large'
  /** The store has no room for it, by its own limit or its disk. Retry when something was removed. */
  | 'full'
  /** The store does not answer. Retry. */
  | 'unavailable'
  /** Whoever asked has given up. */
  | 'given_up'

/** The one error of a store. `message` is for operators; no secret is in it. */
export class LayoutStoreError extends Error {
  readonly code: LayoutStoreErrorCode
  constructor(code: LayoutStoreErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.name = 'LayoutStoreError'
    this.code = code
  }
}
