import { getInstance } from '@berth/contract/instance-page'
import { type Instance, instanceId } from '@berth/contract/instances'
import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Suspense } from 'react'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../../api/queries.ts'
import { queryClient } from '../../api/query-client.ts'
import { lazyPart } from '../../app/lazy-part.ts'
import { usePageName } from '../../app/page-name.ts'
import { usePageSearch } from '../../app/search.ts'
import { type AskedAction, DialogHost } from '../../instances/DialogHost.tsx'
import { useLiveInstances } from '../../instances/live/use-live-instances.ts'
import { pollMs } from '../../instances/poll-ms.ts'
import { menuButtonOf } from '../../lists/row-action.ts'
import { useAsked } from '../../lists/use-asked.ts'
import { Answer } from '../../ui/Answer.tsx'
import { EmptyState } from '../../ui/EmptyState.tsx'
import { SkeletonRows } from '../../ui/SkeletonRows.tsx'
import { CostCard } from './CostCard.tsx'
import { EventsCard } from './EventsCard.tsx'
import { FactsCard } from './FactsCard.tsx'
import classes from './InstancePage.module.css'
import { LogsCard } from './LogsCard.tsx'
import { PageHead } from './PageHead.tsx'
import { Part } from './Part.tsx'
import { PartsBar } from './PartsBar.tsx'
import { ReadinessCard } from './ReadinessCard.tsx'
import { instancePageSearch } from './search.ts'
import { Troubles } from './Troubles.tsx'
import { WaysCard } from './WaysCard.tsx'

/** Graphs bring a library of their own. */
const Graphs = lazyPart(() => import('./graphs/Graphs.tsx').then(module => module.Graphs))

/** Files are looked at by some. */
const FilesCard = lazyPart(() => import('./files/FilesCard.tsx').then(module => module.FilesCard))

const queryFor = (id: string) => queryOf(getInstance, { params: { id } })

/** The button that was pressed may be an item of a menu that is gone: then the menu's own. */
const fallbackOf = ({ instance }: AskedAction) => menuButtonOf(instance.instance_id)

/** Starts what the page shows first, before its code has arrived. */
export function prefetch(search: Record<string, string>): void {
  const { id } = instancePageSearch.parse(search)
  if (isId(id)) void queryClient.prefetchQuery(queryFor(id))
}

/** One instance: how it does, what it costs, how it is reached, what happened to it. */
export function Page() {
  const [{ id }] = usePageSearch(instancePageSearch)
  return isId(id) ? <OneInstance key={id} id={id} /> : <NoInstance />
}

function OneInstance({ id }: { id: string }) {
  const isLive = useLiveInstances()
  const query = useQuery({
    ...queryFor(id),
    refetchInterval: ({ state: { data, error } }) =>
      error?.code === 'not_found' ? false : pollMs(data && [data], isLive),
  })
  const isGone = query.error?.code === 'not_found'
  usePageName((!isGone && query.data?.name) || null)
  if (isGone) return <NoInstance />
  return (
    <Answer query={query} data={query.data} rows={6}>
      {instance => <Overview instance={instance} seenAtMs={query.dataUpdatedAt} />}
    </Answer>
  )
}

function Overview({ instance, seenAtMs }: { instance: Instance; seenAtMs: number }) {
  const asked = useAsked<AskedAction>({ fallbackOf })
  const { ask } = asked
  return (
    <>
      <Part name="overview">
        <PageHead instance={instance} onAsk={action => ask({ action, instance })} />
      </Part>
      <Troubles instance={instance} onAsk={action => ask({ action, instance })} />
      <div className={classes.layout}>
        <div className={classes.main}>
          <ReadinessCard instance={instance} seenAtMs={seenAtMs} />
          <Suspense fallback={<SkeletonRows rows={3} />}>
            <Graphs instance={instance} />
          </Suspense>
          <Part name="logs">
            <LogsCard instance={instance} />
          </Part>
          <Part name="files">
            <Suspense fallback={<SkeletonRows rows={2} />}>
              <FilesCard instance={instance} />
            </Suspense>
          </Part>
          <div className={classes.late}>
            <FactsCard instance={instance} />
          </div>
        </div>
        <div className={classes.side}>
          <CostCard instance={instance} />
          <Part name="ports">
            <WaysCard instance={instance} />
          </Part>
          <Part name="events">
            <EventsCard instance={instance} />
          </Part>
        </div>
      </div>
      <PartsBar />
      <DialogHost asked={asked} instances={[instance]} />
    </>
  )
}

/** Somebody else's, one that was terminated, and one that never was are told alike. */
function NoInstance() {
  const { t } = useTranslation('instance')
  return (
    <EmptyState
      title={t('none.title')}
      hint={t('none.hint')}
      action={
        <Button component={Link} to="/instance-list" variant="default">
          {t('none.back')}
        </Button>
      }
    />
  )
}

const isId = (id: string) => instanceId.safeParse(id).success
