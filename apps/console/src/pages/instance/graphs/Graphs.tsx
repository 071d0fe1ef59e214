import type { InstanceMetrics } from '@berth/contract/instance-metrics'
import type { Instance } from '@berth/contract/instances'
import { Button } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { Answer } from '../../../ui/Answer.tsx'
import { useFormat } from '../../../ui/format.ts'
import { SegmentedFilter } from '../../../ui/SegmentedFilter.tsx'
import { GraphCard } from './GraphCard.tsx'
import classes from './Graphs.module.css'
import { GraphTable } from './GraphTable.tsx'
import { gapsOf, graphsOf, RANGES, type Range, timesOf } from './graph-data.ts'
import { timeText } from './graph-texts.ts'
import { metricsQuery } from './metrics-query.ts'

const RANGE_NAMES = Object.keys(RANGES) as Range[]
/** Gaps that are named beside the graphs; the others are seen. */
const NAMED_GAPS_MAX = 2

/** What the instance uses over time: one axis for all graphs, live or over an hour, a day, thirty days (B9). */
export function Graphs({ instance }: { instance: Instance }) {
  const { t } = useTranslation('instance')
  const [range, setRange] = useState<Range>('hour')
  const [asTable, setAsTable] = useState(false)
  const query = useQuery({
    ...metricsQuery(instance.instance_id, range),
    placeholderData: keepPreviousData,
  })
  return (
    <section className={classes.graphs} aria-label={t('graphs.title')}>
      <div className={classes.bar}>
        <SegmentedFilter
          label={t('graphs.range')}
          value={range}
          onChange={setRange}
          options={RANGE_NAMES.map(value => ({ value, label: t(`graphs.ranges.${value}`) }))}
        />
        <Note metrics={query.data} range={range} />
        <Button size="xs" variant="default" aria-pressed={asTable} onClick={() => setAsTable(!asTable)}>
          {t(asTable ? 'graphs.as_graphs' : 'graphs.as_table')}
        </Button>
      </div>
      <Answer query={query} data={query.data} rows={3}>
        {metrics => <Figures metrics={metrics} range={range} asTable={asTable} />}
      </Answer>
    </section>
  )
}

interface FiguresProps {
  metrics: InstanceMetrics
  range: Range
  asTable: boolean
}

function Figures({ metrics, range, asTable }: FiguresProps) {
  const drawn = useMemo(
    () => ({ graphs: graphsOf(metrics), times: timesOf(metrics), gaps: gapsOf(metrics) }),
    [metrics],
  )
  if (asTable) return <GraphTable {...drawn} range={range} />
  return (
    <div className={classes.grid}>
      {drawn.graphs.map(graph => (
        <GraphCard
          key={graph.kind}
          graph={graph}
          metrics={metrics}
          range={range}
          times={drawn.times}
          gaps={drawn.gaps}
        />
      ))}
    </div>
  )
}

/** What is to be said of all graphs: that nobody samples now, or when nobody did. */
function Note({ metrics, range }: { metrics: InstanceMetrics | undefined; range: Range }) {
  const { t } = useTranslation('instance')
  const format = useFormat()
  if (!metrics) return <span className={classes.note} />
  const times = timesOf(metrics)
  const at = (step: number) => timeText(times[step] ?? 0, range, format)
  const gaps = gapsOf(metrics)
  const named = gaps
    .slice(-NAMED_GAPS_MAX)
    .map(({ first, last }) =>
      t('graphs.gap', { from: at(first), until: at(last + 1 < times.length ? last + 1 : last) }),
    )
  const state = metrics.state === 'sampled' ? '' : t(`graphs.state.${metrics.state}`)
  return (
    <span className={classes.note} role="status">
      {[state, ...named].filter(words => words !== '').join(' · ')}
    </span>
  )
}
