import { getInstanceMetrics, type InstanceMetrics } from '@berth/contract/instance-metrics'
import { screen, within } from '@testing-library/react'
import { Suspense } from 'react'
import { expect, test } from 'vitest'
import { lazyPart } from '../../../app/lazy-part.ts'
import { renderInPage } from '../../../component-fixture.tsx'
import { answerCalls, InShell } from '../../../gateway-fixture.tsx'
import { madeInstance } from '../../../instances/instance-fixture.ts'
import { sampleOf } from '../../../schema-fixture.ts'

/** As the page brings it: its library asks at once for what of a browser jsdom gets with the page. */
const Graphs = lazyPart(() => import('./Graphs.tsx').then(module => module.Graphs))

const NONE = { values: [null, null, null, null], lacks: null }

const unsampled = getInstanceMetrics.data.parse({
  ...(sampleOf(getInstanceMetrics.data) as InstanceMetrics),
  state: 'not_yet',
  sampled_since: null,
  sampled_at: null,
  steps: 4,
  cpu_percent: NONE,
  memory_used_mb: NONE,
  disk_used_mb: { values: NONE.values, lacks: 'not_measured' },
  network_in_rate: NONE,
  network_out_rate: NONE,
  gpus: [],
})

test('[B9] of what was not sampled yet each graph says so in words, and shows no zero', async () => {
  await answerCalls({ [getInstanceMetrics.operation]: () => unsampled })
  await renderInPage(
    () => (
      <InShell>
        <Suspense>
          <Graphs instance={madeInstance({})} />
        </Suspense>
      </InShell>
    ),
    { namespaces: ['instance'] },
  )
  for (const name of ['CPU', 'Memory', 'Network']) {
    const card = await screen.findByRole('region', { name })
    expect(card.textContent).toBe(`${name}Not sampled in this time.`)
  }
  // What will never be sampled says why, and not that it was not yet.
  within(screen.getByRole('region', { name: 'Disk' })).getByText('Its engine does not measure this.')
  expect(screen.getByRole('status').textContent).toBe(
    'not sampled yet: the first figures come within half a minute',
  )
})
