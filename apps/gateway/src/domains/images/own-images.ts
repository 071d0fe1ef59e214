import { BUILD_GB_MAX } from '@berth/contract/build-limits'
import type { FieldRule } from '@berth/contract/errors'
import { type ImageAction, imageCan } from '@berth/contract/image-actions'
import type { CustomImage, ImageBuildLog } from '@berth/contract/images'
import { IMAGES_PER_USER_MAX } from '@berth/contract/limits'
import { type CreateImageBody, createImage, type EditImageBody } from '@berth/contract/own-images'
import { and, count, eq, isNull } from 'drizzle-orm'
import { DockerfileError, parseDockerfile, referencesOf } from '../../drivers/compute/port/dockerfile.ts'
import { parseReference, parseRegistryHost } from '../../drivers/compute/port/image-reference.ts'
import { partsOfReference } from '../../drivers/compute/port/reference-parts.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Catalogue } from '../../platform/config/catalogue.ts'
import type { Database, Queryable, Transaction } from '../../platform/database/database.ts'
import { notify } from '../../platform/database/open-database.ts'
import { ApiError } from '../../platform/http/api-error.ts'
import type { Ids } from '../../platform/ids.ts'
import { earlierResult, keepResult } from '../../platform/once.ts'
import type { Billing } from '../billing/billing.ts'
import { forCustomer } from '../customers/customers.ts'
import type { Fleet } from '../fleet/fleet.ts'
import type { Regions } from '../regions/regions.ts'
import { IMAGE_RULES, type Registries } from '../registries/registries.ts'
import { readBuildLog } from './dockerfile/build-log.ts'
import type { GitFiles } from './dockerfile/git-files.ts'
import type { CommunityRow } from './gallery.ts'
import {
  changeImage,
  IMAGE_CHANNEL,
  type ImageChange,
  type ImageChangeDeps,
  imageSubject,
  type OwnImageRow,
} from './image-states.ts'
import { communityImage, type GitSource, ownImage } from './tables.ts'

const MB_PER_GB = 1_024
/** What a form says of where an image is from: one of these. */
const SOURCES = ['instance_id', 'image_reference', 'dockerfile', 'git'] as const
/** Of images that a Dockerfile begins with, those that are asked for before it is taken. */
const ASKED_BASES_MAX = 3

/** An instance that an image is to be made of. */
export interface BuiltInstance {
  id: string
  name: string
  kind: 'POD' | 'VM'
  engineId: string
  containerDiskGb: number
}

export interface OwnImagesDeps {
  db: Database
  clock: Clock
  ids: Ids
  catalogue: Pick<Catalogue, 'prices'>
  regions: Pick<Regions, 'requireOpen'>
  billing: ImageChangeDeps['billing'] & Pick<Billing, 'lockWallet' | 'hold'>
  events: ImageChangeDeps['events']
  fleet: Pick<Fleet, 'place' | 'known'>
  registries: Pick<Registries, 'askImage' | 'list'>
  git: Pick<GitFiles, 'isHere'>
  /**
   * Begins to make an image of an instance of a customer's, if it may (R4.6), and does the rest in the same transaction,
   * under the customer's, the wallet's and the instance's lock; it comes from the instances domain.
   * @throws ApiError `not_found`, `create_image_pod`, `create_image_vm` or `instance_state`.
   */
  beginBuild(
    target: { userId: string; instanceId: string },
    imageId: string,
    run: (tx: Transaction, instance: BuiltInstance, at: Date) => Promise<void>,
    isDone: (tx: Transaction) => Promise<boolean>,
  ): Promise<void>
  /** The instance has no image made of it any more. */
  endBuild(
    tx: Transaction,
    instanceId: string,
    done: { imageId: string; isMade: boolean; at: Date },
  ): Promise<void>
  /** Makes sure that a customer may give an image a cover. @throws ApiError `validation_failed` {cover_unknown}. */
  requireCover(tx: Transaction, userId: string, cover: string | null): Promise<void>
  /** How an image is shown to its owner. */
  show(row: OwnImageRow): Promise<CustomImage>
  /** There is something to do. */
  wake(): void
  /** Ends the making of an image, where it is made by this gateway. */
  giveUp(id: string): void
}

/** What customers do with images of their own (R1.2, R4.8). */
export function createOwnImages(deps: OwnImagesDeps) {
  const { db, clock, ids, billing, catalogue, regions } = deps

  /** Takes the locks in their order, and gives the row under them. @throws ApiError `not_found` (R6.4). */
  async function lockOwn(tx: Transaction, userId: string, id: string): Promise<OwnImageRow> {
    await forCustomer(tx, userId)
    await billing.lockWallet(tx, userId)
    const [row] = await tx.select().from(ownImage).where(isOwn(userId, id)).for('update')
    if (!row) throw new ApiError('not_found')
    return row
  }

  /** Changes one of a customer's images under its locks. */
  async function act(
    userId: string,
    id: string,
    run: (tx: Transaction, row: OwnImageRow, at: Date) => Promise<OwnImageRow>,
  ): Promise<CustomImage> {
    const changed = await db.transaction(async tx => run(tx, await lockOwn(tx, userId, id), clock.now()))
    deps.wake()
    return deps.show(changed)
  }

  const change = (tx: Transaction, row: OwnImageRow, to: ImageChange) => changeImage(tx, deps, row, to)

  async function requireRoom(tx: Transaction, userId: string): Promise<void> {
    if ((await countLive(tx, userId)) >= IMAGES_PER_USER_MAX) {
      throw new ApiError('image_limit', { values: { limit: IMAGES_PER_USER_MAX } })
    }
  }

  interface Source {
    engineId: string
    instanceId?: string
    instanceName?: string
    reference?: string
    credentialId?: string | null
    dockerfile?: string | null
    git?: GitSource | null
    /** As much may come to be kept. */
    gb: number
  }

  async function insert(
    tx: Transaction,
    input: { userId: string; id: string; body: CreateImageBody; at: Date },
    source: Source,
  ): Promise<void> {
    const { userId, id, body, at } = input
    await requireRoom(tx, userId)
    await deps.requireCover(tx, userId, body.cover)
    await requirePublished(tx, userId, body)
    const driver = deps.fleet.known(source.engineId)?.driver ?? ''
    const microPerGbDay = catalogue.prices.image_micro_per_gb_day
    await tx.insert(ownImage).values({
      id,
      userId,
      ...saidOf(body),
      kind: body.kind,
      versionOf: body.version_of,
      driver,
      builtId: id,
      sizeBytes: 0,
      sourceInstanceId: source.instanceId ?? null,
      sourceInstanceName: source.instanceName ?? null,
      sourceReference: source.reference ?? null,
      sourceCredentialId: source.credentialId ?? null,
      sourceDockerfile: source.dockerfile ?? null,
      sourceGit: source.git ?? null,
      engineId: source.engineId,
      status: 'building',
      statusSince: at,
      progress: { step: 'waiting', bytes_done: 0, bytes_total: null, build_steps: null },
      microPerGbDay,
      nextAttemptAt: at,
      createdAt: at,
      updatedAt: at,
    })
    const amountMicro = BigInt(source.gb) * microPerGbDay
    await billing.hold(tx, { userId, subject: imageSubject(id), amountMicro })
    await notify(tx, IMAGE_CHANNEL, id)
  }

  return {
    /**
     * Begins to make an image, and sets the first day of what may be kept aside; the same key again gives the same (B3).
     * @throws ApiError `validation_failed`, `not_found` for the instance, `create_image_pod`, `create_image_vm`,
     *   `instance_state`, `image_limit`, `insufficient_balance`, `region_not_supported`, `region_draining` or `compute_unavailable`.
     */
    async create(input: {
      userId: string
      idempotencyKey: string
      body: CreateImageBody
    }): Promise<CustomImage> {
      const { userId, body } = input
      const { instance_id: instanceId, image_reference: reference } = body
      const given = SOURCES.filter(path => body[path] !== null)
      if (given.length === 0) throw fault('instance_id', 'required')
      if (given.length > 1) throw fault(given[1] ?? '', 'not_allowed')
      regions.requireOpen(body.region_code)
      const call = { userId, operation: createImage.operation, key: input.idempotencyKey }
      let id = ids.imageId()
      const isDone = async (tx: Transaction) => {
        const earlier = await earlierResult(tx, call, clock.now())
        if (earlier !== null) id = earlier
        return earlier !== null
      }
      if (instanceId !== null) {
        await deps.beginBuild(
          { userId, instanceId },
          id,
          async (tx, instance, at) => {
            if (instance.kind !== body.kind) throw fault('kind', 'not_allowed')
            await keepResult(tx, call, id)
            await insert(
              tx,
              { userId, id, body, at },
              {
                engineId: instance.engineId,
                instanceId: instance.id,
                instanceName: instance.name,
                gb: instance.containerDiskGb,
              },
            )
          },
          isDone,
        )
      } else {
        const source =
          reference === null ? await builtSource(userId, body) : await sourceOf(userId, body, reference)
        await db.transaction(async tx => {
          await forCustomer(tx, userId)
          await billing.lockWallet(tx, userId)
          if (await isDone(tx)) return
          await keepResult(tx, call, id)
          await insert(tx, { userId, id, body, at: clock.now() }, source)
        })
      }
      deps.wake()
      return deps.show(await findEver(userId, id))
    },

    /**
     * Changes what is said of an image, in every status but `deleting`. Of one that the community has, the new version
     * goes through review, and the old one stays meanwhile.
     * @throws ApiError `validation_failed`, `not_found`, `image_state`, `region_not_supported` or `region_draining`.
     */
    edit(userId: string, body: EditImageBody): Promise<CustomImage> {
      return act(userId, body.id, async (tx, row, at) => {
        requireCan('edit', row)
        // What is said of an image that is there already may be changed while nothing new comes to its region.
        if (body.region_code !== row.regionCode) regions.requireOpen(body.region_code)
        await deps.requireCover(tx, userId, body.cover)
        const [said] = await tx
          .update(ownImage)
          .set({ ...saidOf(body), updatedAt: at })
          .where(eq(ownImage.id, row.id))
          .returning()
        const fresh = said ?? row
        return row.status === 'community' ? send(tx, fresh, at) : fresh
      })
    },

    /** Sends an image to the community. @throws ApiError `not_found` or `image_state`. */
    publish: (userId: string, id: string): Promise<CustomImage> =>
      act(userId, id, async (tx, row, at) => {
        requireCan('publish', row)
        return send(tx, row, at)
      }),

    /**
     * Takes an image back that is in review. What the community has of it stays.
     * @throws ApiError `not_found` or `image_state`.
     */
    cancelPublishing: (userId: string, id: string): Promise<CustomImage> =>
      act(userId, id, async (tx, row, at) => {
        requireCan('cancel_publishing', row)
        const status = (await copyOf(tx, row)) ? 'community' : 'private'
        return change(tx, row, { status, at, patch: { reviewSince: null } })
      }),

    /**
     * Takes an image off the community, and out of review. Machines that run it go on.
     * @throws ApiError `not_found` or `image_state`.
     */
    makePrivate: (userId: string, id: string): Promise<CustomImage> =>
      act(userId, id, async (tx, row, at) => {
        requireCan('make_private', row)
        await tx
          .update(communityImage)
          .set({ withdrawnAt: at })
          .where(and(eq(communityImage.originId, row.id), isNull(communityImage.withdrawnAt)))
        return change(tx, row, { status: 'private', at, patch: { reviewSince: null, communityId: null } })
      }),

    /**
     * Gives up making an image. Nothing of it is kept but what was said of it.
     * @throws ApiError `not_found` or `image_state`.
     */
    async cancelBuild(userId: string, id: string): Promise<CustomImage> {
      const shown = await act(userId, id, async (tx, row, at) => {
        requireCan('cancel_build', row)
        await endBuild(tx, row, at)
        const reason = { code: 'build_canceled', detail: '' } as const
        return change(tx, row, { status: 'failed', at, reason })
      })
      deps.giveUp(id)
      return shown
    },

    /**
     * Deletes an image. It costs nothing from here on; what the community has of it stays.
     * @throws ApiError `not_found`.
     */
    async remove(userId: string, id: string): Promise<CustomImage> {
      const shown = await act(userId, id, async (tx, row, at) => {
        if (row.status === 'deleting') return row
        if (row.status === 'building') await endBuild(tx, row, at)
        return change(tx, row, { status: 'deleting', at })
      })
      deps.giveUp(id)
      return shown
    },

    /**
     * What the steps of an image's Dockerfile have written.
     * @param after The last line that is known, 0 for none.
     * @throws ApiError `not_found`.
     */
    async buildLog(userId: string, id: string, after: number): Promise<ImageBuildLog> {
      const [row] = await db.select({ status: ownImage.status }).from(ownImage).where(isOwn(userId, id))
      if (!row) throw new ApiError('not_found')
      const { isWhole, ...read } = await readBuildLog(db, id, after)
      return { ...read, more: !isWhole || row.status === 'building' }
    },

    countLive,
  }

  async function send(tx: Transaction, row: OwnImageRow, at: Date): Promise<OwnImageRow> {
    const [before] = await tx
      .select({ number: communityImage.number })
      .from(communityImage)
      .where(
        row.versionOf === null ? eq(communityImage.originId, row.id) : isPublished(row.userId, row.versionOf),
      )
    const number = (before?.number ?? 0) + 1
    return change(tx, row, { status: 'review', at, news: 'in_review', patch: { reviewSince: at, number } })
  }

  async function endBuild(tx: Transaction, row: OwnImageRow, at: Date): Promise<void> {
    if (row.sourceInstanceId === null) return
    await deps.endBuild(tx, row.sourceInstanceId, { imageId: row.id, isMade: false, at })
  }

  /** What a registry says of an image that is to be made of it, and where it is made. */
  async function sourceOf(userId: string, body: CreateImageBody, reference: string): Promise<Source> {
    if (body.kind !== 'POD') throw fault('kind', 'not_allowed')
    const credentialId = body.registry_credential_id
    const answer = await deps.registries.askImage({ userId, reference, credentialId })
    if (answer.result !== 'reachable') throw fault('image_reference', IMAGE_RULES[answer.result])
    const parts = partsOfReference(reference)
    const [engineId] = deps.fleet.place({
      regionCode: body.region_code,
      kind: 'POD',
      canMake: driver => driver in parts,
    })
    if (!engineId) throw new ApiError('compute_unavailable')
    return { engineId, reference, credentialId, gb: Math.max(1, Math.ceil(answer.sizeMb / MB_PER_GB)) }
  }

  /** Where a Dockerfile is built. What one that was pasted begins with is asked for first. */
  async function builtSource(userId: string, body: CreateImageBody): Promise<Source> {
    const { dockerfile, git, registry_credential_id: credentialId } = body
    const field = git === null ? 'dockerfile' : 'git.url'
    if (body.kind !== 'POD') throw fault('kind', 'not_allowed')
    if (git !== null && !deps.git.isHere) throw fault(field, 'git_missing')
    const credentials = await deps.registries.list(userId)
    const credential = credentials.find(({ id }) => id === credentialId)
    if (credentialId !== null && !credential) throw fault('registry_credential_id', 'not_allowed')
    for (const reference of dockerfile === null ? [] : referencesIn(dockerfile).slice(0, ASKED_BASES_MAX)) {
      const isIts = credential && parseRegistryHost(credential.registry) === parseReference(reference)?.host
      const answer = await deps.registries.askImage({
        ...{ userId, reference },
        credentialId: isIts ? credentialId : null,
      })
      if (answer.result !== 'reachable') throw fault('dockerfile', IMAGE_RULES[answer.result])
    }
    try {
      const [engineId = ''] = deps.fleet.place({
        regionCode: body.region_code,
        kind: 'POD',
        canMake: (_, facts) => facts.builds_dockerfiles === true,
      })
      return { engineId, credentialId, dockerfile, git, gb: BUILD_GB_MAX }
    } catch (error) {
      // Told at its field, since another region may have one.
      if (error instanceof ApiError && error.code === 'compute_unavailable')
        throw fault(field, 'not_built_here')
      throw error
    }
  }

  async function findEver(userId: string, id: string): Promise<OwnImageRow> {
    const [row] = await db
      .select()
      .from(ownImage)
      .where(and(eq(ownImage.userId, userId), eq(ownImage.id, id)))
    if (!row) throw new Error(`image ${id} is gone`)
    return row
  }
}

/** How many images a customer has that are not gone. */
async function countLive(q: Queryable, userId: string): Promise<number> {
  const [row] = await q
    .select({ images: count() })
    .from(ownImage)
    .where(and(eq(ownImage.userId, userId), isNull(ownImage.deletedAt)))
  return row?.images ?? 0
}

/** What the community has of an image; undefined: nothing. */
async function copyOf(tx: Transaction, { id }: OwnImageRow): Promise<CommunityRow | undefined> {
  const [row] = await tx
    .select()
    .from(communityImage)
    .where(and(eq(communityImage.originId, id), isNull(communityImage.withdrawnAt)))
  return row
}

/** What a customer has published, by the community's id of it. */
export const isPublished = (userId: string, communityId: string) =>
  and(
    eq(communityImage.id, communityId),
    eq(communityImage.authorId, userId),
    isNull(communityImage.withdrawnAt),
  )

/**
 * Makes sure that a new version is one of something that its customer has published, and of the same kind.
 * @throws ApiError `validation_failed`.
 */
async function requirePublished(
  tx: Transaction,
  userId: string,
  body: Pick<CreateImageBody, 'version_of' | 'kind'>,
): Promise<void> {
  if (body.version_of === null) return
  const [published] = await tx
    .select({ kind: communityImage.kind })
    .from(communityImage)
    .where(isPublished(userId, body.version_of))
  if (published?.kind !== body.kind) throw fault('version_of', 'not_allowed')
}

/** @throws ApiError `dockerfile_invalid` where it cannot be followed, with the line. */
function referencesIn(dockerfile: string): string[] {
  try {
    return referencesOf(parseDockerfile(dockerfile))
  } catch (error) {
    if (!(error instanceof DockerfileError)) throw error
    throw new ApiError('dockerfile_invalid', {
      values: { line: error.line },
      fields: [{ path: 'dockerfile', rule: 'not_allowed' }],
      cause: error,
    })
  }
}

function requireCan(action: ImageAction, { status }: OwnImageRow): void {
  if (!imageCan(action, status)) throw new ApiError('image_state', { values: { status } })
}

function isOwn(userId: string, id: string) {
  return and(eq(ownImage.userId, userId), eq(ownImage.id, id), isNull(ownImage.deletedAt))
}

function fault(path: string, rule: FieldRule): ApiError {
  return new ApiError('validation_failed', { fields: [{ path, rule }] })
}

function saidOf(body: Omit<EditImageBody, 'id'>) {
  return {
    name: body.name,
    description: body.description,
    tags: body.tags,
    regionCode: body.region_code,
    versionInfo: body.version_info,
    preloadedModels: body.preloaded_models,
    startCommand: body.start_command,
    httpPorts: body.http_ports,
    tcpPorts: body.tcp_ports,
    minVramGb: body.min_vram_gb,
    readme: body.readme,
    cover: body.cover,
  }
}
