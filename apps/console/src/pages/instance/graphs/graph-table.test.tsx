import { getInstanceMetrics, type InstanceMetrics } from '@berth/contract/instance-metrics'
import { screen, within } from '@testing-library/react'
import { expect, test } from 'vitest'
import { renderInPage } from '../../../component-fixture.tsx'
import { GraphTable } from './GraphTable.tsx'
import { graphsOf, timesOf } from './graph-data.ts'

const series = (values: (number | null)[], lacks: 'not_measured' | null = null) => ({ values, lacks })

const metrics: InstanceMetrics = getInstanceMetrics.data.parse({
  instance_id: 'i-000000',
  state: 'sampled',
  sampled_since: '2026-11-20T12:00:00.000Z',
  sampled_at: '2026-11-20T12:01:00.000Z',
  from: '2026-11-20T12:00:00.000Z',
  step_seconds: 15,
  steps: 4,
  cpu_percent: series([0, null, 41.6, 250]),
  vcpu: 4,
  memory_used_mb: series([512, null, 1_536, 2_048]),
  memory_limit_mb: 16_384,
  disk_used_mb: series([null, null, null, null], 'not_measured'),
  disk_size_mb: 20_480,
  network_in_rate: series([0, null, 23_000_000, 1_500]),
  network_out_rate: series([10, null, null, 20]),
  gpus: [],
})

test('[B9] [B13] graphs are read as a table, too: the newest first, figures with their units, and a gap as a gap', async () => {
  await renderInPage(() => <GraphTable graphs={graphsOf(metrics)} times={timesOf(metrics)} range="hour" />, {
    namespaces: ['instance'],
  })
  const table = await screen.findByRole('table', { name: 'Use over time' })
  const [head, ...rows] = within(table)
    .getAllByRole('row')
    .map(row => [...row.querySelectorAll('th,td')].map(cell => cell.textContent))
  // What is not measured has no column.
  expect(head).toEqual(['Time', 'CPU', 'Memory', 'Network, in', 'Network, out'])
  expect(rows.map(([, ...figures]) => figures)).toEqual([
    ['250 %', '2.0 GB', '1.5 kB/s', '20 B/s'],
    ['42 %', '1.5 GB', '23.0 MB/s', 'not sampled'],
    ['not sampled', 'not sampled', 'not sampled', 'not sampled'],
    ['0 %', '512 MB', '0 B/s', '10 B/s'],
  ])
  const headings = within(table).getAllByRole('rowheader')
  expect(headings).toHaveLength(4)
  expect(new Set(headings.map(({ textContent }) => textContent)).size).toBe(4)
})
