import { NativeSelect } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { Suspense, useEffect, useRef } from 'react'
import { useTranslation } from 'react-i18next'
import * as z from 'zod'
import { searchOf, usePageSearch } from '../../app/search.ts'
import { SECTION_IDS, type SectionId } from '../../app/settings-sections.ts'
import { Card } from '../../ui/Card.tsx'
import { PageHeader } from '../../ui/PageHeader.tsx'
import parts from '../../ui/SideParts.module.css'
import { SkeletonRows } from '../../ui/SkeletonRows.tsx'
import classes from './SettingsPage.module.css'
import { SECTION_GROUPS, SECTIONS } from './sections.ts'

const PATH = '/settings'
const sectionId = z.enum(SECTION_IDS).catch('profile')
const search = z.object({ section: sectionId })

/** Starts what the section in the address shows first, before its code has arrived. */
export function prefetch(asked: Record<string, string>): void {
  SECTIONS[sectionId.parse(asked.section)].prepare()
}

/** Everything about one's account, in sections that have an address each (R1.7). */
export function Page() {
  const { t } = useTranslation('common')
  const [{ section }, setSearch] = usePageSearch(search)
  const panel = useRef<HTMLDivElement>(null)
  const select = useRef<HTMLSelectElement>(null)
  useFocusOnChange(section, panel, select)
  const { Content } = SECTIONS[section]
  return (
    <>
      <PageHeader title={t('titles.settings')} />
      <div className={parts.layout}>
        <SectionMenu chosen={section} />
        <SectionSelect
          ref={select}
          chosen={section}
          // Whatever else the address holds belongs to the section that is left.
          onChoose={id => setSearch({ ...EMPTY_SEARCH, section: id })}
        />
        <div ref={panel} tabIndex={-1} className={classes.panel}>
          <Suspense
            key={section}
            fallback={
              <Card padding="none">
                <SkeletonRows rows={4} />
              </Card>
            }
          >
            <Content />
          </Suspense>
        </div>
      </div>
    </>
  )
}

/** What sections keep in the address besides their name. */
const EMPTY_SEARCH = { page: undefined, group: undefined }

/** The sections in a list, on screens that have room beside them. */
function SectionMenu({ chosen }: { chosen: SectionId }) {
  const { t } = useTranslation(['settings', 'common'])
  return (
    <nav aria-label={t('sections.label')} className={`${parts.menu} ${classes.menu}`}>
      {SECTION_GROUPS.map(({ heading, ids }) => (
        <section key={heading} aria-label={t(`sections.groups.${heading}`)}>
          <h2 className={classes.heading}>{t(`sections.groups.${heading}`)}</h2>
          <ul>
            {ids.map(id => {
              const Icon = SECTIONS[id].icon
              return (
                <li key={id}>
                  <Link
                    to={PATH}
                    search={searchOf({ section: id })}
                    className={`${parts.entry} ${classes.entry}`}
                    aria-current={id === chosen ? 'page' : undefined}
                  >
                    <Icon size={16} stroke={1.6} aria-hidden="true" className={classes.icon} />
                    {t(`common:settings_sections.${id}`)}
                  </Link>
                </li>
              )
            })}
          </ul>
        </section>
      ))}
    </nav>
  )
}

interface SectionSelectProps {
  ref: React.Ref<HTMLSelectElement>
  chosen: SectionId
  onChoose: (id: SectionId) => void
}

/** The sections in the system's own list, on narrow screens. */
function SectionSelect({ ref, chosen, onChoose }: SectionSelectProps) {
  const { t } = useTranslation(['settings', 'common'])
  return (
    <NativeSelect
      ref={ref}
      className={classes.select}
      aria-label={t('sections.label')}
      value={chosen}
      onChange={event => onChoose(sectionId.parse(event.currentTarget.value))}
      data={SECTION_GROUPS.map(({ heading, ids }) => ({
        group: t(`sections.groups.${heading}`),
        items: ids.map(id => ({ value: id, label: t(`common:settings_sections.${id}`) })),
      }))}
    />
  )
}

/**
 * Moves the focus to the section that was opened, so that keyboard and screen reader go on from there. Somebody
 * who walks through the select stays in it.
 */
function useFocusOnChange(
  section: SectionId,
  panel: React.RefObject<HTMLElement | null>,
  select: React.RefObject<HTMLElement | null>,
): void {
  const seen = useRef(section)
  useEffect(() => {
    if (seen.current === section) return
    seen.current = section
    if (document.activeElement !== select.current) panel.current?.focus({ preventScroll: true })
  }, [section, panel, select])
}
