import { expect, test } from 'vitest'
import { planNamespace, type TenantQuota } from './namespace-plan.ts'

interface NetworkPolicySpec {
  egress: { to: { ipBlock?: { cidr: string; except: string[] } }[] }[]
}

function objectsOf(quota: TenantQuota = {}) {
  const plans = planNamespace({
    ...{ namespace: 'berth-cloud-x', cloudId: 'cloud', tenant: 'x', subject: null, quota, opened: [] },
    gatewayNamespace: null,
  })
  return plans.map(({ object }) => object)
}

function quotasOf(quota: TenantQuota) {
  return objectsOf(quota)
    .filter(({ kind }) => kind === 'ResourceQuota')
    .map(({ metadata, spec }) => ({ name: (metadata as { name: string }).name, spec }))
}

test('machines count for a customer’s quota, and what runs for a moment does not', () => {
  expect(quotasOf({ pods: 2, gpus: 1, disk_gb: 10 })).toEqual([
    { name: 'berth', spec: { hard: { 'requests.nvidia.com/gpu': '1', 'requests.storage': '10Gi' } } },
    { name: 'berth-machines', spec: { hard: { pods: '2' }, scopes: ['NotTerminating'] } },
    { name: 'berth-errands', spec: { hard: { pods: '10' }, scopes: ['Terminating'] } },
  ])
  expect(quotasOf({ gpus: 1 }).map(({ name }) => name)).toEqual(['berth'])
  expect(quotasOf({})).toEqual([])
})

test('[B14] nothing comes into a customer’s namespace, and nothing goes out of it to private networks or to the cluster', () => {
  const policy = objectsOf().find(({ kind }) => kind === 'NetworkPolicy')
  const spec = policy?.spec as NetworkPolicySpec | undefined
  expect(spec).toMatchObject({ podSelector: {}, policyTypes: ['Ingress', 'Egress'], ingress: [] })
  const blocks = (spec?.egress ?? []).flatMap(({ to }) => to).flatMap(({ ipBlock }) => ipBlock ?? [])
  expect(blocks.map(({ cidr }) => cidr)).toEqual(['0.0.0.0/0', '2000::/3'])
  for (const denied of ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '169.254.0.0/16', '127.0.0.0/8'])
    expect(blocks[0]?.except).toContain(denied)
  const [namespace] = objectsOf()
  expect(namespace?.metadata).toMatchObject({ labels: { 'pod-security.kubernetes.io/enforce': 'baseline' } })
})
