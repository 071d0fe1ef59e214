import type { V1PersistentVolumeClaim, V1Secret } from '@kubernetes/client-node'
import type { MachineSpec } from '../port/machines.ts'
import { type KubeLink, orNull } from './kube-link.ts'
import { CLOUD_LABEL, INSTANCE_LABEL, LAID_ANNOTATION, pathOf, RUNS_ANNOTATION } from './kube-names.ts'
import { type FoundDisk, type KubeObjects, ownerOf } from './kube-objects.ts'
import { envKey, type ImageFacts, type MachineOrders } from './pod-plan.ts'

const ORDERS_KEY = 'orders'

/** What machines are to be, in a secret beside each disk, since what a customer gives one may be a secret. */
export function createMachineOrders(deps: { link: KubeLink; objects: KubeObjects; cloudId: string }) {
  const { link, objects, cloudId } = deps
  return {
    async keep(claim: V1PersistentVolumeClaim, spec: MachineSpec, image: ImageFacts): Promise<void> {
      const { image: _, env, ssh_access: __, ssh_keys: ___, ...rest } = spec
      const orders: MachineOrders = { spec: rest, env: Object.keys(env), image }
      const { name = '', namespace = '' } = claim.metadata ?? {}
      const data = {
        [ORDERS_KEY]: JSON.stringify(orders),
        ...Object.fromEntries(Object.values(env).map((value, at) => [envKey(at), value])),
      }
      await objects.apply(pathOf('secrets', namespace, name), {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: {
          name,
          namespace,
          labels: { [CLOUD_LABEL]: cloudId, [INSTANCE_LABEL]: spec.id },
          ownerReferences: [ownerOf(claim)],
        },
        type: 'Opaque',
        data: Object.fromEntries(
          Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
        ),
      })
    },
    /** Null where a gateway was killed before it had written them. */
    async read({ namespace, claim }: FoundDisk): Promise<MachineOrders | null> {
      const path = pathOf('secrets', namespace, claim.metadata?.name ?? '')
      const secret = await orNull(link.json<V1Secret>('GET', path))
      return secret && ordersIn(secret)
    },
  }
}

/** The orders that a secret holds; null for another one. */
export function ordersIn({ data }: Pick<V1Secret, 'data'>): MachineOrders | null {
  const text = data?.[ORDERS_KEY]
  return text === undefined ? null : (JSON.parse(Buffer.from(text, 'base64').toString()) as MachineOrders)
}

/** What stands on a machine's disk. */
export function notesOf({ metadata }: V1PersistentVolumeClaim) {
  const runs = metadata?.annotations?.[RUNS_ANNOTATION]
  return {
    hasRun: runs !== undefined,
    isToRun: runs !== undefined && runs !== '',
    isLaid: metadata?.annotations?.[LAID_ANNOTATION] !== undefined,
  }
}
