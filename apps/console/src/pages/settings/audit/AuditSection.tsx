import { type AuditEntry, listAuditLog } from '@berth/contract/account-security'
import { AUDIT_KEPT_DAYS } from '@berth/contract/limits'
import { NativeSelect } from '@mantine/core'
import { IconCircleX } from '@tabler/icons-react'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { useTranslation } from 'react-i18next'
import * as z from 'zod'
import { queryOf } from '../../../api/queries.ts'
import { List } from '../../../lists/List.tsx'
import { pageNumber, useFilters } from '../../../lists/use-filters.ts'
import { useFormat } from '../../../ui/format.ts'
import { type Column, TwoLines } from '../../../ui/RowTable.tsx'
import { SectionCard } from '../SectionCard.tsx'
import { useDeviceName } from '../use-device-name.ts'
import classes from './AuditSection.module.css'
import { AUDIT_GROUPS, type AuditGroup } from './audit-groups.ts'
import { useAuditWords } from './use-audit-words.ts'

const search = z.object({
  group: z.enum(['all', ...AUDIT_GROUPS]).catch('all'),
  page: pageNumber,
})

/** Who did what with the account, from where, newest first (B12). */
export function AuditSection() {
  const { t } = useTranslation('settings')
  const filters = useFilters(search)
  const { group, page } = filters.values
  const columns = useColumns()
  const query = {
    ...(group === 'all' ? {} : { action: `${group}.` }),
    ...(page > 1 ? { page } : {}),
  }
  const list = useQuery({
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
      aside={<GroupSelect group={group} onChange={chosen => filters.change({ group: chosen })} />}
    >
      <List
        label={t('audit.title')}
        query={list}
        rows={list.data?.items}
        keyOf={row => row.id}
        columns={columns}
        skeletonRows={6}
        none={{ title: t('audit.none'), hint: t('audit.none_hint') }}
        noneFound={filters.narrowed && { title: t('audit.none_found'), hint: t('audit.none_found_hint') }}
        pages={{ page, total: list.data?.total, onChange: next => filters.change({ page: next }) }}
      />
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

function useColumns(): Column<AuditEntry>[] {
  const { t } = useTranslation('settings')
  const format = useFormat()
  const deviceName = useDeviceName()
  const { what, refusal } = useAuditWords()
  return useMemo(
    () => [
      {
        key: 'what',
        narrow: 'whole',
        header: t('audit.what'),
        cell: row => <What first={what(row)} target={row.target} refusal={refusal(row)} />,
      },
      {
        key: 'when',
        narrow: 'end',
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
        narrow: 'under',
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
