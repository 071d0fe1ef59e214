import { createHash } from 'node:crypto'

/** Whoever made an object by server-side apply: all gateways are one manager, so that they never fight over a field. */
export const FIELD_MANAGER = 'berth'

/** Whoever adds owners to what several machines need: apart, so that applying it anew takes none of them away. */
export const OWNERS_MANAGER = 'berth-owners'

/** Names the cloud that an object belongs to. */
export const CLOUD_LABEL = 'berth.cloud'
/** The machine that a disk, its orders and its pod are of. */
export const INSTANCE_LABEL = 'berth.instance'
/** The volume that a claim is. */
export const VOLUME_LABEL = 'berth.volume'
/** The volume that a claim is to become: what it is a copy of has not all come yet. */
export const COPYING_LABEL = 'berth.copying'
/** The image of this cloud's own that a note or a machine's disk is of. */
export const IMAGE_LABEL = 'berth.image'
/** On a customer’s login that was lent to a machine which is nobody’s. */
export const LENT_LABEL = 'berth.lent'
/** What a helping pod is for, such as `measure`. */
export const ERRAND_LABEL = 'berth.errand'
/** Whose namespace it is, as a digest. */
export const TENANT_LABEL = 'berth.tenant'

/** On a machine's disk: its pod's uid while it is to run, empty once it was stopped in good order. */
export const RUNS_ANNOTATION = 'berth/runs'
/** On a machine's disk: what the image has in the home lies on it. */
export const LAID_ANNOTATION = 'berth/laid'
/** On a volume's claim that is a copy: how many bytes came with it. */
export const COPIED_ANNOTATION = 'berth/copied-bytes'
/** On a pod: the GPUs that it was given, by the ids that `size` tells. */
export const GPUS_ANNOTATION = 'berth/gpus'
/** On a pod: by which rule it goes when its command ends; none for an image's own command. */
export const RULE_ANNOTATION = 'berth/command-end'

/** Whose machines they are where nobody says. */
const NOBODY = 'nobody'
const DIGEST_LENGTH = 16

/** How a cloud's objects are called in a cluster. */
export function createNames(cloudId: string) {
  const tenantOf = (tenant: string | undefined) => digestOf(tenant ?? NOBODY)
  return {
    tenantOf,
    /** The namespace of one customer. */
    namespace: (tenant: string | undefined) => `berth-${cloudId}-${tenantOf(tenant)}`,
    /** What selects all of this cloud, and of it what has a label. */
    selector: (...labels: string[]) => [`${CLOUD_LABEL}=${cloudId}`, ...labels].join(','),
    machine: (id: string) => `m-${id}`,
    volume: (id: string) => `v-${id}`,
    /**
     * A login at one registry: each user's there has one of its own, and the operator's is none of a customer's.
     * @param owner The customer whose login it is; null for the operator's.
     */
    pullSecret: (host: string, owner: string | null, username: string) =>
      `pull-${digestOf(JSON.stringify([host, owner, username]))}`,
    /** What an image says of itself. */
    image: (reference: string) => `image-${digestOf(reference)}`,
    /** What is written down of an image that was made of a machine. */
    ownImage: (id: string) => `own-${id}`,
  }
}
export type KubeNames = ReturnType<typeof createNames>

/** A digest that may be part of a name. */
export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, DIGEST_LENGTH)
}

/** Where snapshots of volumes are served, where they are. */
export const SNAPSHOTS_API = 'snapshot.storage.k8s.io/v1'

type KubeKind =
  | 'pods'
  | 'persistentvolumeclaims'
  | 'persistentvolumes'
  | 'secrets'
  | 'configmaps'
  | 'resourcequotas'
  | 'services'
  | 'volumesnapshots'

/** Where an object is at the API server, or, without a name, all of its kind; without a namespace, of all of them. */
export function pathOf(kind: KubeKind, namespace: string | null, name?: string): string {
  const api = kind === 'volumesnapshots' ? `/apis/${SNAPSHOTS_API}` : '/api/v1'
  const place = namespace === null ? '' : `/namespaces/${namespace}`
  return `${api}${place}/${kind}${name === undefined ? '' : `/${name}`}`
}
