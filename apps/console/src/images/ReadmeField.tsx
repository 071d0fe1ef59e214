import { IMAGE_README_CHARS_MAX } from '@berth/contract/limits'
import { Textarea } from '@mantine/core'
import type { GetInputPropsReturnType } from '@mantine/form'
import { useDebouncedValue } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { Suspense, useId, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { settingsQuery } from '../api/queries.ts'
import { lazyPart } from '../app/lazy-part.ts'
import { SkeletonRows } from '../ui/SkeletonRows.tsx'
import { TabBar } from '../ui/TabBar.tsx'
import classes from './ImageSheet.module.css'

const Markdown = lazyPart(() => import('../ui/markdown/Markdown.tsx').then(module => module.Markdown))

/** Typing settles before it is laid out. */
const SETTLE_MS = 300

const VIEWS = ['write', 'preview'] as const

/** A README in Markdown, and how it will look on the image's page. */
export function ReadmeField({ field }: { field: GetInputPropsReturnType }) {
  const { t } = useTranslation('image-form')
  const panelId = useId()
  const [view, setView] = useState<(typeof VIEWS)[number]>('write')
  const [text] = useDebouncedValue(String(field.value), SETTLE_MS)
  const { data: settings } = useQuery(settingsQuery)
  // What is wrong with it is said where it is written.
  const shown = field.error ? 'write' : view
  return (
    <div className={classes.readme}>
      <TabBar
        label={t('fields.readme_parts')}
        value={shown}
        onChange={setView}
        panelId={panelId}
        options={VIEWS.map(value => ({ value, label: t(`fields.readme_${value}`) }))}
      />
      <div id={panelId} role="tabpanel" aria-label={t(`fields.readme_${shown}`)}>
        <div hidden={shown !== 'write'}>
          <Textarea
            aria-label={t('fields.readme')}
            description={t('fields.readme_note', {
              used: String(String(field.value).length),
              max: String(IMAGE_README_CHARS_MAX),
            })}
            classNames={{ input: 'mono' }}
            autosize
            minRows={8}
            maxRows={24}
            maxLength={IMAGE_README_CHARS_MAX + 1}
            {...field}
          />
        </div>
        {shown === 'preview' && (
          <div className={classes.preview}>
            {text.trim() === '' ? (
              <p className={classes.note}>{t('fields.readme_empty')}</p>
            ) : (
              <Suspense fallback={<SkeletonRows rows={3} />}>
                <Markdown text={text} picturesFrom={settings?.brand.image_storage_url ?? null} />
              </Suspense>
            )}
          </div>
        )}
      </div>
    </div>
  )
}
