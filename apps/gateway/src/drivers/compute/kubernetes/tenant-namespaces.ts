import type { Logger } from 'pino'
import { createKeyedQueue } from '../keyed-queue.ts'
import { KubeRefusal } from './kube-errors.ts'
import { type KubeLink, orNull } from './kube-link.ts'
import type { KubeNames } from './kube-names.ts'
import type { KubeObjects } from './kube-objects.ts'
import { planNamespace, type TenantQuota } from './namespace-plan.ts'

/** What somebody changed meanwhile is put right no later than this, when a machine is made. */
const KEPT_MS = 600_000
const ACCOUNT_POLL_MS = 100
const ACCOUNT_TIMEOUT_MS = 15_000
const STATUS_FORBIDDEN = 403

/** Makes the namespaces of customers, each with what keeps it apart. */
export function createTenantNamespaces(deps: {
  link: KubeLink
  objects: KubeObjects
  names: KubeNames
  cloudId: string
  quota: TenantQuota
  opened: readonly string[]
  gatewayNamespace: string | null
  log: Logger
}) {
  const { link, objects, names, cloudId, log } = deps
  const queue = createKeyedQueue()
  const made = new Map<string, number>()
  let asked: Promise<Record<string, unknown> | null> | null = null

  async function make(tenant: string | undefined): Promise<string> {
    const namespace = names.namespace(tenant)
    const before = made.get(namespace)
    if (before !== undefined && performance.now() - before < KEPT_MS) return namespace
    asked ??= subjectOf(link)
    const subject = await asked
    const plans = planNamespace({ ...deps, namespace, cloudId, tenant: names.tenantOf(tenant), subject })
    for (const { path, object } of plans) await applyWith(path, object)
    await accountIn(namespace)
    if (before === undefined) log.debug({ namespace }, 'a namespace is there')
    made.set(namespace, performance.now())
    return namespace
  }

  /** Rights that were bound a moment ago are not known at once to what checks them. */
  async function applyWith(path: string, object: unknown): Promise<void> {
    const deadline = Date.now() + ACCOUNT_TIMEOUT_MS
    for (;;) {
      try {
        await objects.apply(path, object)
        return
      } catch (error) {
        const isTooEarly = error instanceof KubeRefusal && error.status === STATUS_FORBIDDEN
        if (!isTooEarly || Date.now() > deadline) throw error
        await new Promise(resolve => setTimeout(resolve, ACCOUNT_POLL_MS))
      }
    }
  }

  /** No pod is let in before the namespace has the account that the cluster makes in it by itself. */
  async function accountIn(namespace: string): Promise<void> {
    const deadline = Date.now() + ACCOUNT_TIMEOUT_MS
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/default`
    while (!(await orNull(link.json('GET', path)).catch(passForbidden)) && Date.now() < deadline)
      await new Promise(resolve => setTimeout(resolve, ACCOUNT_POLL_MS))
  }

  return {
    /** Sees to it that a customer's namespace is there, with all that keeps it apart. @returns Its name. */
    ensure: (tenant: string | undefined) => queue(names.namespace(tenant), () => make(tenant)),
  }
}

/** Who the gateway is in the cluster, by the cluster's own word; null where it does not tell. */
async function subjectOf(link: KubeLink): Promise<Record<string, unknown> | null> {
  try {
    const { status } = await link.json<{ status: { userInfo: { username: string } } }>(
      'POST',
      '/apis/authentication.k8s.io/v1/selfsubjectreviews',
      { body: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' } },
    )
    const { username } = status.userInfo
    const [, namespace, name] = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(username) ?? []
    if (name !== undefined) return { kind: 'ServiceAccount', name, namespace }
    return { kind: 'User', name: username, apiGroup: 'rbac.authorization.k8s.io' }
  } catch {
    return null
  }
}

function passForbidden(error: unknown): null {
  if (error instanceof KubeRefusal && error.status === STATUS_FORBIDDEN) return null
  throw error
}
