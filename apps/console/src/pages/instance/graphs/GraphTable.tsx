import { useTranslation } from 'react-i18next'
import { Card } from '../../../ui/Card.tsx'
import { useFormat } from '../../../ui/format.ts'
import classes from './GraphTable.module.css'
import type { Graph, Range } from './graph-data.ts'
import { columnName, figureText, timeText } from './graph-texts.ts'

interface GraphTableProps {
  graphs: readonly Graph[]
  times: readonly number[]
  range: Range
}

/** The figures of the graphs as a table, the newest first. A step in which nobody sampled says so. */
export function GraphTable({ graphs, times, range }: GraphTableProps) {
  const { t } = useTranslation('instance')
  const format = useFormat()
  const columns = graphs
    .filter(({ lacks }) => lacks === null)
    .flatMap(graph => graph.lines.map(line => ({ name: columnName(graph, line, t), unit: graph.unit, line })))
  const steps = times.map((seconds, step) => ({ seconds, step })).toReversed()
  return (
    <Card padding="none">
      <section
        className={classes.room}
        aria-label={t('graphs.title')}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: keys scroll what has the focus
        tabIndex={0}
      >
        <table className={classes.table}>
          <caption className="said">{t('graphs.title')}</caption>
          <thead>
            <tr>
              <th scope="col">{t('graphs.time')}</th>
              {columns.map(({ name }) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {steps.map(({ seconds, step }) => (
              <tr key={seconds}>
                <th scope="row">{timeText(seconds, range, format)}</th>
                {columns.map(({ name, unit, line }) => {
                  const value = line.values[step] ?? null
                  return <td key={name}>{value === null ? t('graphs.none') : figureText(value, unit)}</td>
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </Card>
  )
}
