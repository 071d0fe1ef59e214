import { CHAT_KINDS, listModels, type Model } from '@berth/contract/models'
import { Button } from '@mantine/core'
import { IconMessages } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { Link, useRouter } from '@tanstack/react-router'
import { Suspense } from 'react'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../../api/queries.ts'
import { lazyPart } from '../../app/lazy-part.ts'
import { usePageName } from '../../app/page-name.ts'
import { searchOf } from '../../app/search.ts'
import { useSession } from '../../app/session/session.ts'
import { KindMark } from '../../models/KindMark.tsx'
import { Answer } from '../../ui/Answer.tsx'
import { CopyText } from '../../ui/CopyText.tsx'
import { EmptyState } from '../../ui/EmptyState.tsx'
import { SkeletonRows } from '../../ui/SkeletonRows.tsx'
import { ModelDays } from './ModelDays.tsx'
import { ModelFacts } from './ModelFacts.tsx'
import classes from './OneModel.module.css'
import { ProgramCode } from './ProgramCode.tsx'

// Forms, answers and their Markdown are for those who try it.
const Playground = lazyPart(() => import('./Playground.tsx').then(module => module.Playground))

/** Rows of the placeholder. */
const ROWS_EXPECTED = 6

/** One model: what it is, what it costs, how it answers, and the way to try it; for everybody (R2.3). */
export function OneModel({ id }: { id: string }) {
  const query = useQuery(queryOf(listModels, {}))
  const model = query.data?.find(one => one.id === id)
  usePageName(model?.name ?? null)
  return (
    <Answer query={query} data={query.data} rows={ROWS_EXPECTED}>
      {() => (model ? <Overview model={model} /> : <NoModel />)}
    </Answer>
  )
}

function Overview({ model }: { model: Model }) {
  const { user } = useSession()
  const isAsked = CHAT_KINDS.includes(model.kind)
  return (
    <>
      <Head model={model} />
      {isAsked ? (
        <Suspense fallback={<SkeletonRows rows={ROWS_EXPECTED} />}>
          {/* Whoever signs in or out begins anew. */}
          <Playground key={user?.id ?? ''} model={model}>
            <ModelFacts model={model} />
            <ModelDays modelId={model.id} />
          </Playground>
        </Suspense>
      ) : (
        <div className={classes.layout}>
          <ProgramCode model={model} />
          <ModelFacts model={model} />
        </div>
      )}
    </>
  )
}

/** Pages on which a model of a kind is used, beside its own. */
const USED_ON: Partial<Record<Model['kind'], string>> = {
  chat: '/chat-model',
  multimodal: '/multi-modal',
  image: '/image-model',
  video: '/video-model',
}

function Head({ model }: { model: Model }) {
  const { t } = useTranslation('models')
  const { routesByPath } = useRouter()
  const { id, name, kind, vendor, description, demo } = model
  const path = USED_ON[kind]
  return (
    <header className={classes.head}>
      <p className={classes.back}>
        <Link to="/model-endpoints">{t('one.back')}</Link>
      </p>
      <div className={classes.title}>
        <KindMark kind={kind} />
        <h1>{name}</h1>
        {demo && <span className={classes.tag}>{t('demo')}</span>}
        {path !== undefined && path in routesByPath && (
          <Button
            component={Link}
            to={path}
            search={searchOf({ model: id })}
            variant="default"
            className={classes.open ?? ''}
            leftSection={<IconMessages size={16} stroke={1.6} />}
          >
            {t(`one.open.${kind === 'embedding' ? 'chat' : kind}`)}
          </Button>
        )}
      </div>
      <p className={classes.id}>
        <CopyText mono label={t('one.id')} value={id} />
        <span>{vendor}</span>
      </p>
      <p className={classes.text}>{description}</p>
      {demo && <p className={classes.note}>{t('one.demo')}</p>}
    </header>
  )
}

/** One that was taken out of the catalogue, and one that never was in it. */
function NoModel() {
  const { t } = useTranslation('models')
  return (
    <EmptyState
      title={t('one.none')}
      hint={t('one.none_hint')}
      action={
        <Button component={Link} to="/model-endpoints" variant="default">
          {t('one.none_back')}
        </Button>
      }
    />
  )
}
