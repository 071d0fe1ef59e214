import { DENIED_4, DENIED_6, isOfSix } from '../denied-networks.ts'
import { CLOUD_LABEL, TENANT_LABEL } from './kube-names.ts'

/** What a customer may have in a cluster, all machines together; what is left out is not bounded. */
export interface TenantQuota {
  pods?: number | undefined
  gpus?: number | undefined
  disk_gb?: number | undefined
}

/** What a gateway may do in a customer's namespace: the role of `deploy/kubernetes/rbac.yaml` that it binds itself to. */
const MACHINES_ROLE = 'berth-machines'

/** Pods for a moment that one customer may have at once, where machines are counted. */
const ERRANDS_MAX = 10

interface Plan {
  path: string
  object: Record<string, unknown>
}

/**
 * The namespace of one customer, and what keeps it apart, in the order in which it is applied: no machine is made before
 * all of it is there.
 * @param options.subject Who the gateway is in the cluster, to whom the rights in there are given; null where that is not told:
 *   then the gateway must have them already.
 * @param options.opened Private networks that machines may reach all the same.
 * @param options.gatewayNamespace Where gateways run in the cluster, which reach machines by their addresses; null for none.
 */
export function planNamespace(options: {
  namespace: string
  cloudId: string
  tenant: string
  subject: Record<string, unknown> | null
  quota: TenantQuota
  opened: readonly string[]
  gatewayNamespace: string | null
}): Plan[] {
  const { namespace, cloudId, tenant, subject, quota } = options
  const labels = { [CLOUD_LABEL]: cloudId, [TENANT_LABEL]: tenant }
  const plans: Plan[] = [
    {
      path: `/api/v1/namespaces/${namespace}`,
      object: {
        apiVersion: 'v1',
        kind: 'Namespace',
        metadata: {
          name: namespace,
          labels: {
            ...labels,
            // What machines are given besides stands on each: root within is what images need.
            'pod-security.kubernetes.io/enforce': 'baseline',
            'pod-security.kubernetes.io/enforce-version': 'latest',
          },
        },
      },
    },
  ]
  if (subject) plans.push(bindingPlan(namespace, labels, subject))
  plans.push({
    path: `/apis/networking.k8s.io/v1/namespaces/${namespace}/networkpolicies/berth`,
    object: {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata: { name: 'berth', namespace, labels },
      spec: policyOf(options),
    },
  })
  for (const { name, ...spec } of quotasOf(quota)) {
    plans.push({
      path: `/api/v1/namespaces/${namespace}/resourcequotas/${name}`,
      object: { apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name, namespace, labels }, spec },
    })
  }
  return plans
}

function bindingPlan(
  namespace: string,
  labels: Record<string, string>,
  subject: Record<string, unknown>,
): Plan {
  return {
    path: `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/rolebindings/berth`,
    object: {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata: { name: 'berth', namespace, labels },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: MACHINES_ROLE },
      subjects: [subject],
    },
  }
}

/** Nothing comes in but from gateways in the cluster; out goes what goes to the internet, and questions for names. */
function policyOf({
  opened,
  gatewayNamespace,
}: {
  opened: readonly string[]
  gatewayNamespace: string | null
}) {
  const but = (list: readonly string[]) => [...new Set(list)]
  const nameOf = (name: string) => ({ matchLabels: { 'kubernetes.io/metadata.name': name } })
  return {
    podSelector: {},
    policyTypes: ['Ingress', 'Egress'],
    ingress: gatewayNamespace === null ? [] : [{ from: [{ namespaceSelector: nameOf(gatewayNamespace) }] }],
    egress: [
      {
        to: [
          { ipBlock: { cidr: '0.0.0.0/0', except: but(DENIED_4) } },
          // What stands for an IPv4 address within one of IPv6 is no block of its own everywhere.
          { ipBlock: { cidr: '2000::/3', except: DENIED_6.filter(isGlobal) } },
          ...opened.map(network => ({ ipBlock: { cidr: asNetwork(network) } })),
        ],
      },
      {
        to: [
          {
            namespaceSelector: nameOf('kube-system'),
            podSelector: { matchLabels: { 'k8s-app': 'kube-dns' } },
          },
        ],
        ports: [
          { protocol: 'UDP', port: 53 },
          { protocol: 'TCP', port: 53 },
        ],
      },
    ],
  }
}

/** Of 2000::/3, of which exceptions must be a part. */
const isGlobal = (network: string) => /^[23]/.test(network)

function asNetwork(network: string): string {
  if (network.includes('/')) return network
  return `${network}/${isOfSix(network) ? 128 : 32}`
}

/**
 * Machines are counted apart from errands, which end by themselves and are told by that: whoever has all machines that they may have
 * still has images fetched and volumes measured.
 */
function quotasOf({ pods, gpus, disk_gb }: TenantQuota) {
  if (pods === undefined && gpus === undefined && disk_gb === undefined) return []
  const hard = {
    ...(gpus !== undefined && { 'requests.nvidia.com/gpu': String(gpus) }),
    ...(disk_gb !== undefined && { 'requests.storage': `${disk_gb}Gi` }),
  }
  return [
    // Applied though it says nothing: it may say more from an earlier time.
    { name: 'berth', hard },
    ...(pods === undefined
      ? []
      : [
          { name: 'berth-machines', hard: { pods: String(pods) }, scopes: ['NotTerminating'] },
          { name: 'berth-errands', hard: { pods: String(ERRANDS_MAX) }, scopes: ['Terminating'] },
        ]),
  ]
}
