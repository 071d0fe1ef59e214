import { getBalance } from '@berth/contract/billing'
import { type Instance, listInstances } from '@berth/contract/instances'
import { Button } from '@mantine/core'
import { IconPlus, IconRefresh } from '@tabler/icons-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Suspense, useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { reread } from '../../api/cache-lifecycle.ts'
import { instancesQuery, pagesOf, totalOfPart } from '../../api/instances-query.ts'
import { balanceQuery } from '../../api/queries.ts'
import { queryClient } from '../../api/query-client.ts'
import { lazyPart } from '../../app/lazy-part.ts'
import { type AskedAction, DialogHost } from '../../instances/DialogHost.tsx'
import { useLiveInstances } from '../../instances/live/use-live-instances.ts'
import { pollMs } from '../../instances/poll-ms.ts'
import { useChanging } from '../../instances/use-changing.ts'
import { List } from '../../lists/List.tsx'
import { ListBar } from '../../lists/ListBar.tsx'
import { menuButtonOf } from '../../lists/row-action.ts'
import { useAsked } from '../../lists/use-asked.ts'
import { useFilters } from '../../lists/use-filters.ts'
import { useSelection } from '../../lists/use-selection.ts'
import { Card } from '../../ui/Card.tsx'
import { useFormat } from '../../ui/format.ts'
import { PageHeader } from '../../ui/PageHeader.tsx'
import { SegmentedFilter } from '../../ui/SegmentedFilter.tsx'
import { BurnLine } from './BurnLine.tsx'
import classes from './InstanceListPage.module.css'
import { useInstanceColumns } from './instance-columns.tsx'
import { countGroups, findInstances, INSTANCE_GROUPS, inGroup } from './instance-filters.ts'
import { instanceSearch } from './search.ts'
import { useAskedByAddress } from './use-asked-by-address.ts'

const InstanceBulk = lazyPart(() =>
  import('../../instances/bulk/InstanceBulk.tsx').then(module => module.InstanceBulk),
)

const NONE: readonly Instance[] = []
const keyOf = ({ instance_id }: Instance) => instance_id
const nameOf = ({ name }: Instance) => name

/** The button that was pressed may be an item of a menu that is gone: then the menu's own. */
const fallbackOf = ({ instance }: AskedAction) => menuButtonOf(instance.instance_id)

/** Starts what the page shows first, before its code has arrived. */
export function prefetch(): void {
  void queryClient.prefetchQuery(instancesQuery)
}

/** The customer's instances, what each does and costs, and what can be done with it (R2.26). */
export function Page() {
  const { t } = useTranslation(['instances', 'common'])
  const format = useFormat()
  const filters = useFilters(instanceSearch)
  const isLive = useLiveInstances()
  // A hidden tab asks for nothing.
  const list = useQuery({
    ...instancesQuery,
    refetchInterval: ({ state }) => pollMs(state.data, isLive) * pagesOf(state.data),
  })
  const { data } = list
  const balance = useQuery(balanceQuery)
  useFreshBalance(data)
  const asked = useAsked<AskedAction>({ fallbackOf })
  const { ask } = asked
  useAskedByAddress(data, ask)
  const columns = useInstanceColumns(useCallback((action, instance) => ask({ action, instance }), [ask]))

  const { status } = filters.values
  const rows = data ?? NONE
  const total = totalOfPart(rows)
  useChanging(isLive ? NONE : rows)
  const found = useMemo(() => findInstances(rows, filters.typed), [rows, filters.typed])
  const counts = useMemo(() => countGroups(found), [found])
  const shown = useMemo(() => inGroup(found, status), [found, status])
  const selection = useSelection({ rows, shown, keyOf, nameOf })
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
      {data?.length !== 0 && (
        <ListBar filters={filters} findLabel={t('filter.find')}>
          <SegmentedFilter
            label={t('filter.label')}
            value={status}
            onChange={chosen => filters.change({ status: chosen })}
            options={INSTANCE_GROUPS.map(value => ({
              value,
              label: t(`filter.${value}`),
              ...(data && { count: counts[value] }),
            }))}
          />
        </ListBar>
      )}
      <div className={classes.list}>
        <Suspense>
          <InstanceBulk selection={selection} />
        </Suspense>
        {total !== null && (
          <p className={classes.reading} role="status">
            {t('reading', { number: format.number(rows.length), total: format.number(total) })}
          </p>
        )}
        <Card padding="none">
          <List
            label={t('label')}
            query={list}
            rows={data && shown}
            keyOf={keyOf}
            columns={columns}
            selection={selection}
            none={{ title: t('empty.title'), hint: t('empty.hint'), action: <DeployButton /> }}
            noneFound={
              data &&
              data.length > 0 && {
                title: t('empty.none_match'),
                action: (
                  <Button variant="default" onClick={filters.reset}>
                    {t('empty.show_all')}
                  </Button>
                ),
              }
            }
          />
        </Card>
      </div>
      <DialogHost asked={asked} instances={rows} />
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
  const before = useRef(instances)
  useEffect(() => {
    const changed = before.current !== undefined && !isAlike(before.current, instances ?? NONE)
    before.current = instances
    if (changed) void reread([getBalance.operation])
  }, [instances])
}

/** Whether two lists hold the same instances in the same statuses. What has not changed is the same object. */
function isAlike(some: readonly Instance[], others: readonly Instance[]): boolean {
  if (some.length !== others.length) return false
  return some.every((one, at) => {
    const other = others[at]
    return one === other || (one.instance_id === other?.instance_id && one.status === other.status)
  })
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
