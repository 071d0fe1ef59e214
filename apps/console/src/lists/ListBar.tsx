import { TextInput } from '@mantine/core'
import { IconSearch } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import classes from './ListBar.module.css'
import { FIND_CHARS_MAX, type Filters } from './use-filters.ts'

interface ListBarProps {
  /** The filters' choices, most often a `SegmentedFilter`. */
  children?: ReactNode
  /** What the search field looks through; without one there is no field. */
  findLabel?: string
  filters: Pick<Filters<Record<string, unknown>>, 'typed' | 'find'>
  /** It is the head of the list's card, not a line above it. */
  inCard?: boolean
  /** Small buttons behind the search. */
  end?: ReactNode
}

/** What narrows a list, above it. */
export function ListBar({ children, findLabel, filters, inCard = false, end }: ListBarProps) {
  return (
    <div className={classes.bar} data-in-card={inCard || undefined}>
      {children}
      {findLabel !== undefined && (
        <TextInput
          type="search"
          className={classes.find}
          aria-label={findLabel}
          placeholder={findLabel}
          leftSection={<IconSearch size={16} stroke={1.6} />}
          autoComplete="off"
          spellCheck={false}
          maxLength={FIND_CHARS_MAX}
          value={filters.typed}
          onChange={event => filters.find(event.currentTarget.value)}
        />
      )}
      {end !== undefined && <div className={classes.end}>{end}</div>}
    </div>
  )
}
