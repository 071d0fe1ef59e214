import { expect, test } from 'vitest'
import { planNamespace, type TenantQuota } from './namespace-plan.ts'

function quotasOf(quota: TenantQuota) {
  const plans = planNamespace({
    ...{ namespace: 'berth-cloud-x', cloudId: 'cloud', tenant: 'x', subject: null, quota, opened: [] },
    gatewayNamespace: null,
  })
  return plans
    .map(({ object }) => object)
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
