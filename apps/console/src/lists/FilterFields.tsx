import { Button } from '@mantine/core'
import type { ReactNode } from 'react'
import { DayField } from './DayField.tsx'
import classes from './FilterFields.module.css'
import type { Filters } from './use-filters.ts'

interface FilterFieldsProps<Values extends { from: string; to: string }> {
  /** What a button that shows them names. */
  id?: string
  filters: Filters<Values>
  /** The fields of the period, what is said of one that ends before it begins, and the button that takes all off. */
  words: Record<'from' | 'to' | 'backwards' | 'clear', string>
  /** The fields before the period. */
  children: ReactNode
}

/** Fields that narrow a list, with a period at their end. */
export function FilterFields<Values extends { from: string; to: string }>({
  id,
  filters,
  words,
  children,
}: FilterFieldsProps<Values>) {
  const { from, to } = filters.values
  const change = (period: { from?: string; to?: string }) => filters.change(period as Partial<Values>)
  return (
    <div id={id} className={classes.filters}>
      {children}
      <DayField label={words.from} value={from} onChange={day => change({ from: day })} />
      <DayField
        label={words.to}
        value={to}
        error={from !== '' && to !== '' && to < from ? words.backwards : undefined}
        onChange={day => change({ to: day })}
      />
      {filters.narrowed && (
        <Button variant="default" onClick={filters.reset}>
          {words.clear}
        </Button>
      )}
    </div>
  )
}
