import type { InstanceMetrics } from '@berth/contract/instance-metrics'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useFormat } from '../../../ui/format.ts'
import classes from './GraphCard.module.css'
import { type Gap, type Graph, newestOf, type Range } from './graph-data.ts'
import { figureText, lineName, timeText } from './graph-texts.ts'
import { Plot } from './Plot.tsx'

interface GraphCardProps {
  graph: Graph
  metrics: InstanceMetrics
  range: Range
  times: readonly number[]
  gaps: readonly Gap[]
}

/** One graph: what it shows, how much that is now or under the pointer, and why there is nothing where there is not. */
export function GraphCard({ graph, metrics, range, times, gaps }: GraphCardProps) {
  const { t } = useTranslation('instance')
  const format = useFormat()
  const [step, setStep] = useState<number | null>(null)
  const { kind, unit, lines, whole, lacks } = graph
  const isSampled = lines.some(({ values }) => values.some(value => value !== null))
  const at = (seconds: number | undefined) => timeText(seconds ?? 0, range, format)
  const figures = lines.map(line => {
    const value = step === null ? newestOf(line) : (line.values[step] ?? null)
    return [lineName(line, t), value === null ? t('graphs.none') : figureText(value, unit)]
      .filter(Boolean)
      .join(' ')
  })
  return (
    <section className={classes.card} aria-label={t(`graphs.kind.${kind}`)}>
      <div className={classes.head}>
        <h3>{t(`graphs.kind.${kind}`)}</h3>
        {isSampled && lacks === null && (
          <span className={classes.of}>
            {whole !== null && unit !== 'percent' && t('graphs.of', { whole: figureText(whole, unit) })}
            {kind === 'cpu' && t('graphs.vcpu', { number: metrics.vcpu })}
          </span>
        )}
      </div>
      {lacks !== null || !isSampled ? (
        <p className={classes.none}>{t(lacks === null ? 'graphs.not_sampled' : `graphs.lacks.${lacks}`)}</p>
      ) : (
        <>
          <p className={classes.figures}>
            {figures.map((figure, index) => (
              <span key={lines[index]?.of ?? 'one'} data-line={index === 0 ? 0 : 2 - (index % 2)}>
                {lines.length > 1 && <i aria-hidden="true" />}
                {figure}
              </span>
            ))}
          </p>
          <Plot times={times} lines={lines} gaps={gaps} whole={whole} onStep={setStep} />
          <p className={classes.times}>
            <span>{at(step === null ? times[0] : times[step])}</span>
            {step === null && <span>{at(times.at(-1))}</span>}
          </p>
        </>
      )}
    </section>
  )
}
