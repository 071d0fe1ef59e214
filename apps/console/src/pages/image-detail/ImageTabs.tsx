import type { ImageDetail } from '@berth/contract/images'
import { useQuery } from '@tanstack/react-query'
import { Suspense, useId } from 'react'
import { useTranslation } from 'react-i18next'
import { settingsQuery } from '../../api/queries.ts'
import { lazyPart } from '../../app/lazy-part.ts'
import { Card } from '../../ui/Card.tsx'
import { SkeletonRows } from '../../ui/SkeletonRows.tsx'
import { TabBar } from '../../ui/TabBar.tsx'
import classes from './ImageTabs.module.css'
import { IMAGE_TABS } from './search.ts'
import { VersionList } from './VersionsCard.tsx'

/** What lays Markdown out is a library of its own. */
const Markdown = lazyPart(() => import('../../ui/markdown/Markdown.tsx').then(module => module.Markdown))
const CodeBlock = lazyPart(() => import('../../ui/markdown/CodeBlock.tsx').then(module => module.CodeBlock))

type ImageTab = (typeof IMAGE_TABS)[number]

interface ImageTabsProps {
  image: ImageDetail
  tab: ImageTab
  onTab: (tab: ImageTab) => void
}

/** What is read of an image: its README, its versions, how it starts and what is in it. */
export function ImageTabs({ image, tab, onTab }: ImageTabsProps) {
  const { t } = useTranslation('images')
  const panelId = useId()
  const { readme, versions, start_command, preloaded_models } = image
  const { data: settings } = useQuery(settingsQuery)
  const said: Record<ImageTab, boolean> = {
    readme: readme !== '',
    versions: versions.length > 0,
    command: start_command !== '',
    models: preloaded_models !== '',
  }
  return (
    <Card padding="none">
      <TabBar
        label={t('detail.parts')}
        value={tab}
        onChange={onTab}
        panelId={panelId}
        options={IMAGE_TABS.map(one => ({
          value: one,
          label: t(`detail.tabs.${one}`),
          ...(one === 'versions' && versions.length > 0 && { count: versions.length }),
        }))}
      />
      <div id={panelId} role="tabpanel" aria-label={t(`detail.tabs.${tab}`)} className={classes.panel}>
        {said[tab] ? part(tab) : <p className={classes.none}>{t(`detail.no.${tab}`)}</p>}
      </div>
    </Card>
  )

  function part(one: ImageTab) {
    if (one === 'versions') return <VersionList versions={versions} />
    return (
      <Suspense fallback={<SkeletonRows rows={4} />}>
        {one === 'readme' && (
          <Markdown text={readme} picturesFrom={settings?.brand.image_storage_url ?? null} />
        )}
        {one === 'command' && <CodeBlock>{start_command}</CodeBlock>}
        {one === 'models' && <p className={classes.models}>{preloaded_models}</p>}
      </Suspense>
    )
  }
}
