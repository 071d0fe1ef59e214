import { expect, test } from 'vitest'
import { createKubeCopies } from './kube-copies.ts'

type Deps = Parameters<typeof createKubeCopies>[0]

function copiesWith(terms: Pick<Deps, 'snapshotClass' | 'servesSnapshots'>) {
  // What it would ask a cluster by is not there: it asks nothing.
  return createKubeCopies(terms as Deps)
}

test('[B14] volumes are copied where the operator names a class of snapshots and the cluster has them; else it says which is missing', () => {
  expect(copiesWith({ snapshotClass: null, servesSnapshots: true })).toEqual({
    lacks: expect.stringContaining('has named no class'),
  })
  expect(copiesWith({ snapshotClass: 'csi', servesSnapshots: false })).toEqual({
    lacks: expect.stringContaining('the cluster serves none'),
  })
})
