import type { ReactNode } from 'react'
import type { ApiError } from '../../../api/api-error.ts'
import { EmptyState } from '../../../ui/EmptyState.tsx'
import { ErrorState } from '../../../ui/ErrorState.tsx'
import { type Column, RowTable } from '../../../ui/RowTable.tsx'
import { SkeletonRows } from '../../../ui/SkeletonRows.tsx'
import { SectionCard } from '../SectionCard.tsx'

interface KeyListProps<Row extends { id: string }> {
  title: string
  /** What these are for. */
  lead: string
  /** The button that adds one. */
  action: ReactNode
  /** As the query gives it: undefined while nothing is known. */
  rows: readonly Row[] | undefined
  error: ApiError | null
  onRetry: () => void
  label: string
  columns: readonly Column<Row>[]
  none: string
  noneHint: string
}

/** A section's card: loading, failed, empty, or its rows. */
export function KeyList<Row extends { id: string }>(props: KeyListProps<Row>) {
  const { rows, error } = props
  return (
    <SectionCard kind="rows" title={props.title} lead={props.lead} aside={props.action}>
      {!rows && error && (
        <ErrorState message={error.message} requestId={error.requestId} onRetry={props.onRetry} />
      )}
      {!rows && !error && <SkeletonRows rows={2} />}
      {rows?.length === 0 && <EmptyState title={props.none} hint={props.noneHint} />}
      {rows && rows.length > 0 && (
        <RowTable label={props.label} columns={props.columns} rows={rows} keyOf={row => row.id} />
      )}
    </SectionCard>
  )
}
