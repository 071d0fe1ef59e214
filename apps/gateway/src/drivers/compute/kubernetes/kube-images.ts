import type { V1PersistentVolumeClaim, V1Pod } from '@kubernetes/client-node'
import { z } from 'zod'
import { OciFailure } from '../oci/oci-failure.ts'
import { describeImage } from '../oci/pull-image.ts'
import { ComputeError } from '../port/compute-error.ts'
import { parseReference, pinnedTo } from '../port/image-reference.ts'
import type { ImageRecipe, ImageStore, OwnImages, PullProgress } from '../port/images.ts'
import type { RegistryAccess, RegistryLogin, RegistryTerms } from '../port/registry-access.ts'
import { awaitPod } from './await-pod.ts'
import { planErrand } from './errand-pod.ts'
import { type KubeLink, orNull, translated } from './kube-link.ts'
import { CLOUD_LABEL, digestOf, type KubeNames, LENT_LABEL, pathOf } from './kube-names.ts'
import type { KubeNodes } from './kube-nodes.ts'
import type { KubeObjects } from './kube-objects.ts'
import type { KubeOwnDeps } from './kube-own-images.ts'
import { findKubeImage, type KubeImage, kubeImage, ownIdOf } from './kube-recipe.ts'
import type { NodeRegistry } from './node-registry.ts'
import { createOwnImageNotes, type OwnImageNote } from './own-image-notes.ts'
import type { ImageFacts } from './pod-plan.ts'
import type { createTenantNamespaces } from './tenant-namespaces.ts'

const NO_KUBE_IMAGE =
  'Its recipe names no image for Kubernetes: a reference, such as debian:12, which nodes can pull.'
const NO_CUSTOMER_IMAGES =
  'The operator takes no images here that customers name: see customer_images in the engine’s description.'
const NO_REGISTRY =
  'Images of machines lie at a registry that nodes pull from, and the operator has named none: see image_registry in the engine’s description.'
const HOME_OF_ROOT = '/root'
/** More than the layers of any image take to come; whoever waits has a shorter patience. */
export const PULL_TIMEOUT_MS = 3_600_000
const DOCKER_HUB = 'registry-1.docker.io'
/** Docker Hub's own name in files of logins. */
const DOCKER_HUB_LOGIN = 'https://index.docker.io/v1/'
const ROOTS: ReadonlySet<string> = new Set(['', '0', 'root', '0:0', 'root:root'])

const keptSchema = z.object({
  entrypoint: z.array(z.string()),
  command: z.array(z.string()),
  home: z.string(),
  is_user: z.boolean(),
  /** The secret with the login that it needed; null for none. */
  login: z.string().nullable(),
  /** By the digest of what was described: nodes pull that, whatever became of its tag since. */
  pinned: z.string(),
  /** How its registry was asked; what an earlier version wrote down does not say it. */
  registry: z
    .object({
      ca: z.string().nullable(),
      also: z.array(z.string()),
      is_stranger: z.boolean().optional(),
    })
    .optional(),
})
type KeptFacts = z.infer<typeof keptSchema>

/**
 * Images, which nodes fetch themselves. What an image says of itself is asked from its registry and kept in the cluster, since
 * a pod whose command is ours must be told what the image would have run.
 */
export function createKubeImages(deps: {
  link: KubeLink
  objects: KubeObjects
  names: KubeNames
  cloudId: string
  nodes: KubeNodes
  namespaces: ReturnType<typeof createTenantNamespaces>
  /** Whether customers name images of any registry. */
  customerImages: boolean
  /** Where images of this cloud's own lie; null where the operator named no registry for them. */
  registry: NodeRegistry | null
  /** Makes what makes images of machines. */
  makeOwn(parts: Pick<KubeOwnDeps, 'registry' | 'notes' | 'wordsOf' | 'termsOf' | 'fetch'>): OwnImages
}) {
  const { link, objects, names, cloudId, nodes, namespaces, registry } = deps
  const notes = createOwnImageNotes({ link, objects, names, cloudId, namespaces })

  /** What is known of an image; null where its registry was never asked for whoever wants it. */
  async function keptOf(image: KubeImage): Promise<KeptFacts | null> {
    if (image.told && !image.is_pulled) {
      const { told, home, reference } = image
      return { ...told, home: home ?? HOME_OF_ROOT, is_user: false, login: null, pinned: reference }
    }
    const namespace = await namespaces.ensure(image.owner ?? undefined)
    const path = pathOf('configmaps', namespace, names.image(image.reference))
    const found = await orNull(link.json<{ data?: Record<string, string> }>('GET', path))
    const kept = found?.data?.facts
    // What an earlier version wrote down is asked anew.
    return kept === undefined ? null : (keptSchema.safeParse(JSON.parse(kept)).data ?? null)
  }

  /**
   * What a machine is made from.
   * @param tenant Whose machine it is: what its image's login is kept beside.
   * @throws ComputeError `image_unavailable`.
   */
  async function factsOf(recipe: ImageRecipe, tenant: string | undefined): Promise<ImageFacts> {
    const ownId = ownIdOf(recipe)
    if (ownId !== null) return await factsOfOwn(ownId, tenant)
    const image = kubeImage(recipe)
    const kept = await keptOf(image)
    if (!kept) throw new ComputeError('image_unavailable', `${recipe.id} was not pulled yet`)
    const { login, home, pinned, ...asked } = kept
    const facts = { ...asked, ...image.told }
    if (login !== null) await lend(image, login, tenant)
    return {
      ...facts,
      reference: pinned,
      is_pulled: image.is_pulled,
      home: image.home ?? home,
      pull_secret: login,
    }
  }

  /** The same of an image that was made here or brought here. */
  async function factsOfOwn(id: string, tenant: string | undefined): Promise<ImageFacts> {
    const note = registry && (await notes.read(id))
    if (!registry || !note?.is_whole || note.digest === null)
      throw new ComputeError('image_unavailable', `the image ${id} is not at the registry`)
    const { entrypoint, command, home, is_user } = note
    return {
      ...{ entrypoint, command, home, is_user },
      reference: ownReference(registry, id, note.digest),
      is_pulled: true,
      pull_secret: await giveOwnLogin(registry, await namespaces.ensure(tenant)),
      // It is the operator's own, wherever it is.
      registry: { ca: null, also: [registry.host] },
    }
  }

  /** Puts what pulls from the installation's registry where a pod is. @returns Its secret; null where everybody may pull. */
  async function giveOwnLogin({ host, pullLogin }: NodeRegistry, namespace: string): Promise<string | null> {
    if (!pullLogin) return null
    const name = names.pullSecret(host, null, pullLogin.username)
    await keepLogin(namespace, name, loginFile(host, pullLogin))
    return name
  }

  /** Has a node fetch an image that was brought here, so that it is known before a machine waits for it. */
  async function fetchOwn(note: OwnImageNote, id: string, signal: AbortSignal): Promise<void> {
    if (!registry || note.digest === null) return
    const pinned = ownReference(registry, id, note.digest)
    if (await nodes.haveImage(pinned)) return
    const namespace = await namespaces.ensure(undefined)
    await fetch(pinned, { namespace, login: await giveOwnLogin(registry, namespace), signal })
  }

  /** What the registry of a machine's image is asked with: the login that its node has for it, by the ways that were looked at. */
  async function termsOf(namespace: string, image: ImageFacts): Promise<RegistryTerms> {
    const ways = image.registry ?? { ca: null, also: [], is_stranger: true }
    if (image.pull_secret === null) return { ...ways, login: null }
    const secret = await orNull(
      link.json<{ data?: Record<string, string> }>('GET', pathOf('secrets', namespace, image.pull_secret)),
    )
    return { ...ways, login: loginIn(secret?.data?.['.dockerconfigjson']) }
  }

  /** A login is in the namespace of whoever pulled by it; the operator's goes along to where a machine is. */
  async function lend(image: KubeImage, name: string, tenant: string | undefined): Promise<void> {
    const from = names.namespace(image.owner ?? undefined)
    const to = names.namespace(tenant)
    if (from === to) return
    const found = await orNull(
      link.json<{ data?: Record<string, string> }>('GET', pathOf('secrets', from, name)),
    )
    const data = found?.data?.['.dockerconfigjson']
    if (data !== undefined)
      await keepLogin(to, name, data, image.owner === null ? {} : { [LENT_LABEL]: 'yes' })
  }

  async function keepLogin(
    namespace: string,
    name: string,
    data: string,
    labels: Record<string, string> = {},
  ): Promise<void> {
    await objects.apply(pathOf('secrets', namespace, name), {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name, namespace, labels: { [CLOUD_LABEL]: cloudId, ...labels } },
      type: 'kubernetes.io/dockerconfigjson',
      data: { '.dockerconfigjson': data },
    })
  }

  /**
   * Has a login go with the last machine that needs it: each one's disk owns it, too. The operator's own stays, since other
   * customers' machines are given copies of it; a customer's that was lent to a machine of the operator's does not.
   * @returns Whether it is there.
   */
  async function ownLogin(disk: V1PersistentVolumeClaim, name: string): Promise<boolean> {
    const { namespace = '' } = disk.metadata ?? {}
    if (namespace === names.namespace(undefined)) {
      const found = await orNull(
        link.json<{ metadata?: { labels?: Record<string, string> } }>(
          'GET',
          pathOf('secrets', namespace, name),
        ),
      )
      if (found?.metadata?.labels?.[LENT_LABEL] === undefined) return true
    }
    return await objects.addOwner(pathOf('secrets', namespace, name), disk)
  }

  const isRefused = ({ owner }: ImageRecipe) => owner !== undefined && !deps.customerImages

  async function has(recipe: ImageRecipe): Promise<boolean> {
    const ownId = ownIdOf(recipe)
    if (ownId !== null) return registry !== null && (await notes.read(ownId))?.is_whole === true
    const image = findKubeImage(recipe)
    // That a node has it says nothing of whether this customer may.
    if (!image || image.owner !== null) return false
    const kept = await keptOf(image)
    return kept !== null && (await nodes.haveImage(kept.pinned))
  }

  async function pull(
    recipe: ImageRecipe,
    onProgress: (progress: PullProgress) => void,
    signal: AbortSignal,
    access?: RegistryAccess,
  ): Promise<void> {
    if (ownIdOf(recipe) !== null) return void (await factsOf(recipe, undefined))
    const image = kubeImage(recipe)
    if (isRefused(recipe)) throw new ComputeError('image_not_allowed', NO_CUSTOMER_IMAGES)
    if (await has(recipe)) return
    if (!image.is_pulled) {
      throw new ComputeError('image_unavailable', `no node has ${image.reference}, which is never pulled`)
    }
    const host = parseReference(image.reference)?.host ?? ''
    const terms = (await access?.(host)) ?? { login: null, ca: null, also: [] }
    const tenant = image.owner ?? undefined
    const namespace = await namespaces.ensure(tenant)
    const login = terms.login && names.pullSecret(host, image.owner, terms.login.username)
    if (login !== null && terms.login) await keepLogin(namespace, login, loginFile(host, terms.login))
    const { bytes_total, pinned } = await describe(image, { terms, login, namespace, signal })
    onProgress({ bytes_done: 0, bytes_total })
    await fetch(pinned, { namespace, login, signal })
    onProgress({ bytes_done: bytes_total, bytes_total })
  }

  /**
   * Asks the registry what the image is, and keeps it.
   * @returns How many bytes its layers have, and by what nodes are to pull it.
   */
  async function describe(
    image: KubeImage,
    asked: { terms: RegistryTerms; login: string | null; namespace: string; signal: AbortSignal },
  ): Promise<{ bytes_total: number; pinned: string }> {
    const { terms, login, namespace, signal } = asked
    const found = await describeImage(image.reference, { terms, signal }).catch(cause => {
      if (cause instanceof OciFailure) throw new ComputeError(cause.code, cause.message, { cause })
      throw cause
    })
    const kept: KeptFacts = {
      entrypoint: found.entrypoint,
      command: found.command,
      ...wordsOf(found),
      login,
      pinned: pinnedTo(image.reference, digestToPull(found, image.owner)),
      registry: {
        ca: terms.ca,
        also: [...terms.also],
        ...(terms.is_stranger !== undefined && { is_stranger: terms.is_stranger }),
      },
    }
    const name = names.image(image.reference)
    await objects.apply(pathOf('configmaps', namespace, name), {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace, labels: { [CLOUD_LABEL]: cloudId } },
      data: { facts: JSON.stringify(kept), reference: image.reference },
    })
    return { bytes_total: found.layers.reduce((sum, { size }) => sum + size, 0), pinned: kept.pinned }
  }

  /** Has a node fetch the image, by a pod that ends at once; the scheduler then prefers that node for its machines. */
  async function fetch(
    pinned: string,
    options: { namespace: string; login: string | null; signal: AbortSignal },
  ): Promise<void> {
    const { namespace, login, signal } = options
    const name = `pull-${digestOf(pinned)}`
    const plan = planErrand({
      cloudId,
      place: { namespace, name },
      what: 'pull',
      deadlineMs: PULL_TIMEOUT_MS,
      // The image's own shell, which nobody pays for: it needs next to nothing to end.
      container: {
        image: pinned,
        script: 'exit 0',
        cpu: '100m',
        imagePullPolicy: login === null ? 'IfNotPresent' : 'Always',
      },
      tolerations: await nodes.errandTolerations(),
      spec: {
        ...(nodes.selector && { nodeSelector: nodes.selector }),
        ...(login !== null && { imagePullSecrets: [{ name: login }] }),
      },
    })
    const pod = await objects.apply<V1Pod>(pathOf('pods', namespace, name), plan)
    const place = { namespace, name, uid: pod.metadata?.uid }
    try {
      await awaitPod(link, place, {
        until: one => (one.status?.containerStatuses?.[0]?.imageID ?? '') !== '',
        hadLogin: login !== null,
        signal,
        timeoutMs: PULL_TIMEOUT_MS,
      })
    } finally {
      await objects.remove('pods', place, { graceS: 0 }).catch(() => undefined)
    }
  }

  const images: ImageStore = {
    lackFor: recipe => {
      if (ownIdOf(recipe) !== null) return registry === null ? NO_REGISTRY : null
      if (!findKubeImage(recipe)) return NO_KUBE_IMAGE
      return isRefused(recipe) ? NO_CUSTOMER_IMAGES : null
    },
    has: recipe => translated('looking for an image', () => has(recipe)),
    pull: (recipe, onProgress, signal, access) =>
      translated('pulling an image', () => pull(recipe, onProgress, signal, access)),
    own:
      registry === null
        ? { lacks: NO_REGISTRY }
        : deps.makeOwn({ registry, notes, wordsOf, termsOf, fetch: fetchOwn }),
    dockerfile: {
      lacks:
        'Dockerfiles are not built on Kubernetes yet: an image is built elsewhere, and pulled from its registry.',
    },
  }
  return { images, factsOf, ownLogin }
}

/**
 * By which digest nodes pull what was described. A customer's index could hold another image for them than the one that was looked
 * at, so it is that one alone; the operator's own may have one for each kind of node.
 */
function digestToPull(found: { manifest: string; index: string }, owner: string | null): string {
  return owner === null ? found.index : found.manifest
}

/** What the kubelet reads a login from, as secrets hold it. */
function loginFile(host: string, { username, password }: { username: string; password: string }): string {
  const auth = Buffer.from(`${username}:${password}`).toString('base64')
  const name = host === DOCKER_HUB ? DOCKER_HUB_LOGIN : host
  return Buffer.from(JSON.stringify({ auths: { [name]: { username, password, auth } } })).toString('base64')
}

/** The login in such a file; null where there is none. */
function loginIn(data: string | undefined): RegistryLogin | null {
  const file = data === undefined ? null : JSON.parse(Buffer.from(data, 'base64').toString())
  const [login] = Object.values((file?.auths ?? {}) as Record<string, RegistryLogin>)
  return login ? { username: login.username, password: login.password } : null
}

/** By which nodes pull an image of this cloud's own. */
const ownReference = ({ host, repository }: NodeRegistry, id: string, digest: string) =>
  `${host}/${repository}/${id}@${digest}`

/** What pods of an image go by, of what it says of itself. */
function wordsOf(image: { user: string; env: Record<string, string>; working_dir: string }) {
  return { home: homeOf(image), is_user: !ROOTS.has(image.user) }
}

/** Where an image's user is at home, as far as it says so. */
function homeOf(image: { user: string; env: Record<string, string>; working_dir: string }): string {
  if (ROOTS.has(image.user)) return HOME_OF_ROOT
  if (image.env.HOME?.startsWith('/')) return image.env.HOME
  return image.working_dir.startsWith('/home/') ? image.working_dir : HOME_OF_ROOT
}
