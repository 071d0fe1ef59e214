import type { BuildStage } from './dockerfile.ts'
import type { Part } from './part.ts'
import type { RegistryAccess } from './registry-access.ts'

/** What machines are made from. */
export interface ImageStore {
  /** Why this engine cannot make the image, in a sentence; null when it can. Looks at the recipe alone. */
  lackFor(image: ImageRecipe): string | null

  /**
   * Whether the image is here already, so that `pull` would have nothing to ask. False also for one that this
   * engine cannot make. Fails with `engine_unavailable`; may take as long as the engine takes to answer.
   */
  has(image: ImageRecipe): Promise<boolean>

  /**
   * Makes the image available where the machine will run. Reports progress; `bytes_total` is null where it
   * cannot be known. Returns at once when the image is there already for whoever it is of.
   * @param access What may be shown to its registry; left out for nothing.
   */
  pull(
    image: ImageRecipe,
    onProgress: (progress: PullProgress) => void,
    signal: AbortSignal,
    access?: RegistryAccess,
  ): Promise<void>

  /** Images that are made from machines, or were brought here from another engine. */
  readonly own: Part<OwnImages>

  /** Images that are made from a Dockerfile; an engine that cannot run a stranger's steps within walls says why. */
  readonly dockerfile: Part<DockerfileBuilds>
}

/** Makes images from Dockerfiles: what their steps run is held as machines are, by the same walls, network and limits. */
export interface DockerfileBuilds {
  /**
   * Makes an image of a Dockerfile's stages; it is one of `OwnImages` then. Made already under that id: returns the same.
   * What fails or is given up leaves a step's machine, which has the image's id, and layers: `OwnImages.delete` of that id
   * removes the layers, and `OwnImages.list` has the id until then.
   * @returns By what machines are made from it. Fails with `RecipeError`, and as `pull` does where an image that it begins with is
   * not to be had.
   */
  build(what: DockerfileBuild, signal: AbortSignal): Promise<ImageRecipe>
}

export interface DockerfileBuild {
  image_id: string
  stages: readonly BuildStage[]
  /** The customer whose it is: images that it begins with are asked for as theirs. */
  owner: string
  /** What may be shown to the registries of those. */
  access: RegistryAccess
  /** What COPY copies from, as a tar without its end, each time that it is called; null: there is nothing. */
  context: (() => AsyncIterable<Uint8Array>) | null
  limits: BuildLimits
  /** What steps write, and which one begins: text of strangers, as it comes. */
  onLog(text: string): void
  /** A step begins, of so many. */
  onStep(done: number, total: number): void
}

/** What a build may take. */
export interface BuildLimits {
  cpu_count: number
  memory_mb: number
  /** Of the image with all that it begins with, and of what a step writes. */
  disk_gb: number
}

/**
 * Images of this cloud that are made here or brought here, each by an id of the caller's. What leaves an engine is an OCI
 * image, so that it runs on any other of its kind.
 */
export interface OwnImages {
  /**
   * Makes an image of what a machine has stored, running or stopped, without its environment and command; an engine
   * that cannot do so of one that runs fails with `unsupported` and says that it must be stopped first, and one that cannot
   * of one that has run and is stopped with `not_running`; where a machine's own programs read it, and it has none that do, with `no_tar`. Made already under that id: returns the same. A call that is given up may still come to its end on the engine.
   * @returns By what machines of this engine are made from it. Fails with `not_found` where the machine is not there.
   */
  build(
    what: { machine_id: string; image_id: string },
    onProgress: (progress: PullProgress) => void,
    signal: AbortSignal,
  ): Promise<ImageRecipe>

  /**
   * All of an image as a tar of an OCI image layout, in the order that `LayoutStore.put` and `load` take: `oci-layout`,
   * `index.json` with one manifest, that manifest, its config, its layers (`platform/image-layout`). Of a machine's
   * environment and command nothing is in it. That of a virtual machine is an artifact (`artifactType`
   * `application/vnd.berth.vm`), whose first layer is its disk as qcow2 that leads to no other file. The same image gives
   * the same digests of its layers each time, so that what two images share is kept once.
   * @param signal Whoever gives up may also stop to read.
   * @returns Its bytes, made no faster than they are read; what the engine opened for it is closed when nobody reads
   * any more. Reading fails with `not_found` where there is no such image, and as every call does.
   */
  save(imageId: string, signal: AbortSignal): AsyncIterable<Uint8Array>

  /**
   * Makes an image available under an id on this engine, of an archive as `save` gives it on any engine of the same kind.
   * There already under that id: returns the same and reads nothing. An archive that is refused, cut or given up leaves
   * nothing behind; two calls of one id have one after the other.
   * @param archive Read no faster than it is stored, and told to end where it is refused.
   * @returns By what machines of this engine are made from it. Fails with `image_damaged` where bytes are not those of
   * their digest or size, or it ends early; `image_unfit` where it is no layout of one image that can run here, or of
   * more bytes or layers than may be; `no_room`; with what `archive` throws.
   */
  load(imageId: string, archive: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<ImageRecipe>

  /** Removes an image. Absent: returns. Fails with `failed` while a machine is made from it. */
  delete(imageId: string): Promise<void>

  /** Every image of this cloud that was made or brought here. */
  list(): Promise<OwnImage[]>
}

export interface OwnImage {
  id: string
  /** What is there of it on this engine, with what it shares with others; what a store of layouts keeps is told by that. */
  size_bytes: number
}

/** How an image is made, by every driver in its own way. */
export interface ImageRecipe {
  /** The image's id, for messages. */
  id: string
  /** Each driver's own part, by the driver's name, checked by that driver; nobody else looks into one. */
  parts: Readonly<Record<string, unknown>>
  /**
   * The customer whose image it is; left out for the operator's, which are for everybody. What a login was needed for
   * is used for nobody but whose login it was, only because it is here: a driver keeps it apart, or asks the registry
   * anew each time.
   */
  owner?: string
}

export interface PullProgress {
  bytes_done: number
  bytes_total: number | null
}
