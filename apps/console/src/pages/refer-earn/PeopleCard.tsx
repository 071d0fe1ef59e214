import {
  downloadReferralOrders,
  downloadReferralRecords,
  listReferralOrders,
  listReferralRecords,
  REFERRAL_REWARD_KINDS,
  REFERRAL_STATES,
  type ReferralSummary,
} from '@berth/contract/referral'
import { ActionIcon } from '@mantine/core'
import { IconDownload } from '@tabler/icons-react'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { request } from '../../api/client.ts'
import { queryOf } from '../../api/queries.ts'
import { ChoiceSelect } from '../../lists/ChoiceSelect.tsx'
import { List } from '../../lists/List.tsx'
import { ListBar } from '../../lists/ListBar.tsx'
import { type Filters, useFilters } from '../../lists/use-filters.ts'
import { useCsv } from '../../receipts/use-csv.ts'
import { Card } from '../../ui/Card.tsx'
import { useFormat } from '../../ui/format.ts'
import { SegmentedFilter } from '../../ui/SegmentedFilter.tsx'
import { quarterParts } from './ChoiceFields.tsx'
import { KEPT_FRESH } from './kept-fresh.ts'
import classes from './PeopleCard.module.css'
import { useOrderColumns, useRecordColumns } from './people-columns.tsx'
import { orderQuery, type ReferSearch, recordQuery, referSearch } from './refer-search.ts'

/** Whom the link brought, and what was earned for what (R2.28, R3.13). */
export function PeopleCard({ summary }: { summary: ReferralSummary }) {
  const { t } = useTranslation('refer')
  const filters = useFilters(referSearch)
  const { list } = filters.values
  return (
    <Card padding="none">
      <ListBar
        inCard
        filters={filters}
        findLabel={t('search')}
        end={<Narrow filters={filters} current={summary.quarter.quarter} />}
      >
        <SegmentedFilter
          label={t('lists')}
          value={list}
          onChange={chosen => filters.change({ list: chosen, kind: 'any' })}
          options={[
            { value: 'users', label: t('users'), count: summary.registered_users },
            { value: 'orders', label: t('orders'), count: summary.order_rewards },
          ]}
        />
      </ListBar>
      {list === 'users' ? (
        <Users filters={filters} summary={summary} />
      ) : (
        <Orders filters={filters} summary={summary} />
      )}
    </Card>
  )
}

/** State, kind and quarter, and the file of what they show. */
function Narrow({ filters, current }: { filters: Filters<ReferSearch>; current: string }) {
  const { t } = useTranslation('refer')
  const { list, state, kind, quarter } = filters.values
  const { busy, save } = useCsv()
  const saveFile = () =>
    list === 'users'
      ? save('invited-users.csv', () =>
          request(downloadReferralRecords, { query: recordQuery(filters.values) }),
        )
      : save('order-rewards.csv', () =>
          request(downloadReferralOrders, { query: orderQuery(filters.values) }),
        )
  return (
    <div className={classes.narrow}>
      <ChoiceSelect
        aria-label={t('quarter')}
        value={quarter}
        onChange={event => filters.change({ quarter: event.currentTarget.value })}
      >
        <option value="">{list === 'users' ? t('quarter_now') : t('quarter_any')}</option>
        {quartersFrom(current, quarter).map(name => (
          <option key={name} value={name}>
            {t('quarter_name', quarterParts(name))}
          </option>
        ))}
      </ChoiceSelect>
      {list === 'orders' && (
        <ChoiceSelect
          aria-label={t('kind')}
          value={kind}
          onChange={event =>
            filters.change({ kind: referSearch.shape.kind.parse(event.currentTarget.value) })
          }
        >
          <option value="any">{t('kind_any')}</option>
          {REFERRAL_REWARD_KINDS.map(value => (
            <option key={value} value={value}>
              {t(`kinds.${value}`)}
            </option>
          ))}
        </ChoiceSelect>
      )}
      <ChoiceSelect
        aria-label={t('state')}
        value={state}
        onChange={event =>
          filters.change({ state: referSearch.shape.state.parse(event.currentTarget.value) })
        }
      >
        <option value="any">{t('state_any')}</option>
        {REFERRAL_STATES.map(value => (
          <option key={value} value={value}>
            {t('state_is', { state: t(`states.${value}`) })}
          </option>
        ))}
      </ChoiceSelect>
      <ActionIcon
        variant="default"
        size={32}
        loading={busy}
        aria-label={t('download')}
        title={t('download')}
        onClick={saveFile}
      >
        <IconDownload size={16} stroke={1.6} />
      </ActionIcon>
    </div>
  )
}

interface ShownProps {
  filters: Filters<ReferSearch>
  summary: ReferralSummary
}

function Users({ filters, summary }: ShownProps) {
  const { t } = useTranslation('refer')
  const format = useFormat()
  const { page, quarter } = filters.values
  const query = useQuery({
    ...queryOf(listReferralRecords, { query: { ...recordQuery(filters.values), page } }),
    ...KEPT_FRESH,
    placeholderData: keepPreviousData,
  })
  const shownQuarter = quarter || summary.quarter.quarter
  const columns = useRecordColumns(shownQuarter, summary.terms)
  const now = summary.quarter
  return (
    <>
      <List
        label={t('users')}
        query={query}
        rows={query.data?.items}
        keyOf={row => row.id}
        columns={columns}
        skeletonRows={6}
        none={{ title: t('nobody'), hint: t('nobody_hint') }}
        noneFound={filters.narrowed && { title: t('none_found'), hint: t('none_found_hint') }}
        pages={{ page, total: query.data?.total, onChange: next => filters.change({ page: next }) }}
      />
      {summary.registered_users > 0 && (
        <p className={classes.foot}>
          {t('this_quarter_sum', {
            rebates: format.money(now.rebate_micro, now.currency),
            spent: format.money(now.spent_micro, now.currency),
          })}{' '}
          {now.first_topups > 0 &&
            t('first_topups_sum', {
              count: now.first_topups,
              amount: format.money(now.first_topup_micro, now.currency),
            })}
        </p>
      )}
    </>
  )
}

function Orders({ filters }: ShownProps) {
  const { t } = useTranslation('refer')
  const { page } = filters.values
  const query = useQuery({
    ...queryOf(listReferralOrders, { query: { ...orderQuery(filters.values), page } }),
    ...KEPT_FRESH,
    placeholderData: keepPreviousData,
  })
  const columns = useOrderColumns()
  return (
    <List
      label={t('orders')}
      query={query}
      rows={query.data?.items}
      keyOf={row => row.id}
      columns={columns}
      skeletonRows={6}
      none={{ title: t('no_orders'), hint: t('no_orders_hint') }}
      noneFound={filters.narrowed && { title: t('none_found'), hint: t('none_found_hint') }}
      pages={{ page, total: query.data?.total, onChange: next => filters.change({ page: next }) }}
    />
  )
}

/** Two years of quarters, the one that runs first; with whatever the address names. */
function quartersFrom(current: string, chosen: string): string[] {
  const names = [current]
  while (names.length < 8) {
    const { year, number } = quarterParts(names.at(-1) ?? current)
    names.push(number === '1' ? `${Number(year) - 1}-Q4` : `${year}-Q${Number(number) - 1}`)
  }
  return chosen === '' || names.includes(chosen) ? names : [...names, chosen]
}
