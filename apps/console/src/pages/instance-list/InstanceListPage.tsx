import { getBalance } from '@berth/contract/billing'
import { type Instance, listInstances } from '@berth/contract/instances'
import { Button, TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { IconPlus, IconRefresh, IconSearch } from '@tabler/icons-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useCallback, useEffect, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { balanceQuery, queryOf } from '../../api/queries.ts'
import { queryClient } from '../../api/query-client.ts'
import { usePageSearch } from '../../app/search.ts'
import { Card } from '../../ui/Card.tsx'
import { EmptyState } from '../../ui/EmptyState.tsx'
import { ErrorState } from '../../ui/ErrorState.tsx'
import { PageHeader } from '../../ui/PageHeader.tsx'
import { SegmentedFilter } from '../../ui/SegmentedFilter.tsx'
import { SkeletonRows } from '../../ui/SkeletonRows.tsx'
import { BurnLine } from './BurnLine.tsx'
import { DialogHost, useDialogs } from './DialogHost.tsx'
import classes from './InstanceListPage.module.css'
import { InstanceTable } from './InstanceTable.tsx'
import { countGroups, findInstances, INSTANCE_GROUPS, inGroup, pollMs } from './instance-filters.ts'
import { FIND_CHARS_MAX, instanceSearch } from './search.ts'
import { useAskedByAddress } from './use-asked-by-address.ts'

const FIND_PAUSE_MS = 250

const listQuery = queryOf(listInstances, {})

/** Starts what the page shows first, before its code has arrived. */
export function prefetch(): void {
  void queryClient.prefetchQuery(listQuery)
}

/** The customer's instances, what each does and costs, and what can be done with it (R2.26). */
export function Page() {
  const { t } = useTranslation(['instances', 'common'])
  const [filters, setFilters] = usePageSearch(instanceSearch)
  const [typed, setTyped] = useState(filters.q)
  const kept = useRef(filters.q)
  const keepTyped = useDebouncedCallback((q: string) => {
    kept.current = q
    setFilters({ q })
  }, FIND_PAUSE_MS)
  useEffect(() => {
    // The address was changed from elsewhere, by the palette or by the way back.
    if (filters.q === kept.current) return
    kept.current = filters.q
    setTyped(filters.q)
  }, [filters.q])
  // A hidden tab asks for nothing.
  const { data, error, refetch } = useQuery({
    ...listQuery,
    refetchInterval: ({ state }) => pollMs(state.data),
  })
  const balance = useQuery(balanceQuery)
  useFreshBalance(data)
  const dialogs = useDialogs()
  useAskedByAddress(data, dialogs.ask)

  const find = (text: string) => {
    setTyped(text)
    keepTyped(text)
  }
  const found = findInstances(data ?? [], typed)
  const rows = inGroup(found, filters.status)
  const counts = countGroups(found)
  return (
    <>
      <PageHeader
        title={t('common:titles.instance-list')}
        second={<BurnLine balance={balance.data} />}
        actions={
          <>
            <RefreshButton />
            <DeployButton />
          </>
        }
      />
      {(!data || data.length > 0) && (
        <div className={classes.filters}>
          <SegmentedFilter
            label={t('filter.label')}
            value={filters.status}
            onChange={status => setFilters({ status })}
            options={INSTANCE_GROUPS.map(value => ({
              value,
              label: t(`filter.${value}`),
              ...(data && { count: counts[value] }),
            }))}
          />
          <TextInput
            type="search"
            className={classes.find}
            aria-label={t('filter.find')}
            placeholder={t('filter.find')}
            leftSection={<IconSearch size={16} stroke={1.6} />}
            autoComplete="off"
            spellCheck={false}
            maxLength={FIND_CHARS_MAX}
            value={typed}
            onChange={event => find(event.currentTarget.value)}
          />
        </div>
      )}
      <Card padding="none">
        {!data && error && (
          <ErrorState message={error.message} requestId={error.requestId} onRetry={() => void refetch()} />
        )}
        {!data && !error && <SkeletonRows />}
        {data?.length === 0 && (
          <EmptyState title={t('empty.title')} hint={t('empty.hint')} action={<DeployButton />} />
        )}
        {data && data.length > 0 && rows.length === 0 && (
          <EmptyState
            title={t('empty.none_match')}
            action={
              <Button
                variant="default"
                onClick={() => {
                  setTyped('')
                  keepTyped.cancel()
                  kept.current = ''
                  setFilters({ status: 'all', q: '' })
                }}
              >
                {t('empty.show_all')}
              </Button>
            }
          />
        )}
        {rows.length > 0 && <InstanceTable instances={rows} onAsk={dialogs.ask} />}
      </Card>
      <DialogHost dialogs={dialogs} instances={data ?? []} />
    </>
  )
}

function DeployButton() {
  const { t } = useTranslation('instances')
  return (
    <Button component={Link} to="/explore" leftSection={<IconPlus size={16} />}>
      {t('deploy')}
    </Button>
  )
}

/** What is burnt changes with what runs, so the balance is asked for again when a status has changed. */
function useFreshBalance(instances: readonly Instance[] | undefined): void {
  const queries = useQueryClient()
  const statuses = instances?.map(({ instance_id, status }) => `${instance_id} ${status}`).join()
  const before = useRef(statuses)
  useEffect(() => {
    const changed = before.current !== undefined && before.current !== statuses
    before.current = statuses
    if (changed) void queries.invalidateQueries({ queryKey: [getBalance.operation] })
  }, [queries, statuses])
}

/** Asks for the list and the balance now. It spins for its own asking only, not for what is asked by the clock. */
function RefreshButton() {
  const { t } = useTranslation('instances')
  const queries = useQueryClient()
  const [busy, setBusy] = useState(false)
  const refresh = useCallback(async () => {
    setBusy(true)
    await Promise.all(
      [listInstances, getBalance].map(call => queries.refetchQueries({ queryKey: [call.operation] })),
    )
    setBusy(false)
  }, [queries])
  return (
    <Button
      variant="default"
      leftSection={<IconRefresh size={16} stroke={1.6} className={busy ? classes.turning : ''} />}
      aria-busy={busy}
      onClick={() => void refresh()}
    >
      {t('refresh')}
    </Button>
  )
}
