import { type AuditEntry, listAuditLog } from '@berth/contract/account-security'
import { AUDIT_KEPT_DAYS, PAGE_SIZE_DEFAULT } from '@berth/contract/limits'
import { NativeSelect } from '@mantine/core'
import { IconCircleX } from '@tabler/icons-react'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { useTranslation } from 'react-i18next'
import * as z from 'zod'
import { queryOf } from '../../../api/queries.ts'
import { usePageSearch } from '../../../app/search.ts'
import { EmptyState } from '../../../ui/EmptyState.tsx'
import { ErrorState } from '../../../ui/ErrorState.tsx'
import { useFormat } from '../../../ui/format.ts'
import { Pager } from '../../../ui/Pager.tsx'
import { type Column, RowTable, TwoLines } from '../../../ui/RowTable.tsx'
import { SkeletonRows } from '../../../ui/SkeletonRows.tsx'
import { SectionCard } from '../SectionCard.tsx'
import { useDeviceName } from '../use-device-name.ts'
import classes from './AuditSection.module.css'
import { AUDIT_GROUPS, type AuditGroup } from './audit-groups.ts'
import { useAuditWords } from './use-audit-words.ts'

const search = z.object({
  group: z.enum(['all', ...AUDIT_GROUPS]).catch('all'),
  page: z.coerce.number().int().min(1).max(100_000).catch(1),
})

/** Who did what with the account, from where, newest first (B12). */
export function AuditSection() {
  const { t } = useTranslation('settings')
  const [{ group, page }, setFilters] = usePageSearch(search)
  const query = {
    ...(group === 'all' ? {} : { action: `${group}.` }),
    ...(page > 1 ? { page } : {}),
  }
  const { data, error, refetch } = useQuery({
    ...queryOf(listAuditLog, { query }),
    placeholderData: keepPreviousData,
    // Whoever opens the log wants to see what was done a moment ago.
    staleTime: 0,
  })
  return (
    <SectionCard
      kind="rows"
      title={t('audit.title')}
      lead={t('audit.lead', { days: AUDIT_KEPT_DAYS })}
      aside={<GroupSelect group={group} onChange={chosen => setFilters({ group: chosen, page: 1 })} />}
    >
      {!data && error && (
        <ErrorState message={error.message} requestId={error.requestId} onRetry={() => void refetch()} />
      )}
      {!data && !error && <SkeletonRows rows={6} />}
      {data && data.items.length === 0 && (
        <EmptyState
          title={group === 'all' ? t('audit.none') : t('audit.none_found')}
          hint={group === 'all' ? t('audit.none_hint') : t('audit.none_found_hint')}
        />
      )}
      {data && data.items.length > 0 && <AuditTable entries={data.items} />}
      {data && (
        <Pager
          page={page}
          pageSize={PAGE_SIZE_DEFAULT}
          total={data.total}
          onChange={next => setFilters({ page: next })}
        />
      )}
    </SectionCard>
  )
}

interface GroupSelectProps {
  group: AuditGroup | 'all'
  onChange: (group: AuditGroup | 'all') => void
}

function GroupSelect({ group, onChange }: GroupSelectProps) {
  const { t } = useTranslation('settings')
  return (
    <NativeSelect
      aria-label={t('audit.group')}
      value={group}
      onChange={event => onChange(search.shape.group.parse(event.currentTarget.value))}
      data={(['all', ...AUDIT_GROUPS] as const).map(value => ({ value, label: t(`audit.groups.${value}`) }))}
    />
  )
}

function AuditTable({ entries }: { entries: readonly AuditEntry[] }) {
  const { t } = useTranslation('settings')
  const columns = useColumns()
  return <RowTable label={t('audit.title')} columns={columns} rows={entries} keyOf={row => row.id} />
}

function useColumns(): Column<AuditEntry>[] {
  const { t } = useTranslation('settings')
  const format = useFormat()
  const deviceName = useDeviceName()
  const { what, refusal } = useAuditWords()
  return useMemo(
    () => [
      {
        key: 'what',
        header: t('audit.what'),
        cell: row => <What first={what(row)} target={row.target} refusal={refusal(row)} />,
      },
      {
        key: 'when',
        header: t('audit.when'),
        width: '17rem',
        cell: row => (
          <time className="tabular" dateTime={row.createdTime} title={format.date(row.createdTime)}>
            {format.moment(row.createdTime)}
          </time>
        ),
      },
      {
        key: 'from',
        header: t('audit.from'),
        width: '26rem',
        cell: row =>
          row.actor === 'customer' ? (
            <TwoLines
              first={deviceName(row.userAgent)}
              second={<span className={`${classes.address} mono`}>{row.address}</span>}
            />
          ) : (
            <TwoLines first={t(`audit.actors.${row.actor}`)} />
          ),
      },
    ],
    [t, format, deviceName, what, refusal],
  )
}

/** What was done; under it what it was done to, and why it was refused where it was. */
function What({ first, target, refusal }: { first: string; target: string; refusal: string | null }) {
  const second = (
    <>
      {target && <span className={`${classes.target} mono`}>{target}</span>}
      {refusal && (
        <span className={classes.refused}>
          <IconCircleX size={14} stroke={1.8} aria-hidden="true" />
          <span>{refusal}</span>
        </span>
      )}
    </>
  )
  return <TwoLines strong first={first} second={target || refusal ? second : undefined} />
}
