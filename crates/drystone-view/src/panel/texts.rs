//! Texts that parts of the panel show, also under the pointer, for tests without a window.

use egui::{Context, Event, Pos2, RawInput, Rect, Shape, Ui, Vec2};

/// Texts with their places, in the order of painting.
type Texts = Vec<(String, Rect)>;

fn collect(shape: &Shape, texts: &mut Texts) {
    match shape {
        Shape::Text(text) => {
            texts.push((text.galley.text().to_owned(), text.galley.rect.translate(text.pos.to_vec2())));
        }
        Shape::Vec(shapes) => shapes.iter().for_each(|shape| collect(shape, texts)),
        _ => {}
    }
}

/// Shows a part of the panel for some frames, one a second, with these events before each of the first frames.
/// Returns the texts of each frame.
fn frames(size: Vec2, mut events: Vec<Vec<Event>>, content: &mut impl FnMut(&mut Ui)) -> Vec<Texts> {
    let context = Context::default();
    // The first frames measure; later ones show what depends on the events before.
    events.insert(0, Vec::new());
    events.extend(std::iter::repeat_n(Vec::new(), 5));
    let show = |(second, events): (u32, Vec<Event>)| {
        let input = RawInput {
            screen_rect: Some(Rect::from_min_size(Pos2::ZERO, size)),
            time: Some(f64::from(second)),
            events,
            ..RawInput::default()
        };
        let mut texts = Texts::new();
        let mut output = context.run_ui(input, |ui| content(ui));
        // No texture is drawn.
        output.textures_delta.clear();
        output.shapes.iter().for_each(|clipped| collect(&clipped.shape, &mut texts));
        texts
    };
    (0..).zip(events).map(show).collect()
}

/// Returns the texts of the last frame.
fn settled(size: Vec2, pointer: Option<Pos2>, content: &mut impl FnMut(&mut Ui)) -> Texts {
    let events = pointer.map(|at| vec![Event::PointerMoved(at)]);
    frames(size, events.into_iter().collect(), content).pop().unwrap_or_default()
}

/// Returns the place of a text.
fn find(texts: &Texts, wanted: &str) -> Rect {
    let found = texts.iter().find(|(text, _)| text == wanted);
    found.unwrap_or_else(|| panic!("{wanted} is not shown: {texts:?}")).1
}

/// Drags the pointer in the row of a text between two places right of its beginning, points, and returns all texts
/// that were shown during the drag.
pub(super) fn dragged(size: Vec2, row: &str, [from, to]: [f32; 2], mut content: impl FnMut(&mut Ui)) -> Vec<String> {
    let rect = find(&settled(size, None, &mut content), row);
    let at = |x: f32| Pos2::new(rect.left() + x, rect.center().y);
    let press = |at: Pos2, pressed: bool| Event::PointerButton {
        pos: at,
        button: egui::PointerButton::Primary,
        pressed,
        modifiers: egui::Modifiers::NONE,
    };
    let events = vec![
        vec![Event::PointerMoved(at(from)), press(at(from), true)],
        vec![Event::PointerMoved(at(f32::midpoint(from, to)))],
        vec![Event::PointerMoved(at(to))],
        Vec::new(),
        vec![press(at(to), false)],
    ];
    let during = frames(size, events, &mut content).into_iter().skip(2).take(3).flatten();
    during.map(|(text, _)| text).collect()
}

/// Returns the texts of a part of the panel.
pub(super) fn shown_texts(size: Vec2, mut content: impl FnMut(&mut Ui)) -> Vec<String> {
    settled(size, None, &mut content).into_iter().map(|(text, _)| text).collect()
}

/// Returns the right edge of the texts of a part of the panel, points from its left edge.
pub(super) fn right_edge(size: Vec2, mut content: impl FnMut(&mut Ui)) -> f32 {
    let texts = settled(size, None, &mut content);
    let edges = texts.iter().map(|(_, rect)| (rect.left(), rect.right()));
    let (left, right) = edges.fold((f32::INFINITY, 0.0_f32), |all, one| (all.0.min(one.0), all.1.max(one.1)));
    if texts.is_empty() { 0.0 } else { right - left }
}

/// Returns the texts that appear while the pointer is over the first occurrence of a text.
pub(super) fn hover_texts(size: Vec2, over: &str, mut content: impl FnMut(&mut Ui)) -> Vec<String> {
    let before = settled(size, None, &mut content);
    let mut after = settled(size, Some(find(&before, over).center()), &mut content);
    for (text, _) in &before {
        if let Some(index) = after.iter().position(|(other, _)| other == text) {
            after.remove(index);
        }
    }
    after.into_iter().map(|(text, _)| text).collect()
}

/// Returns the names whose hover text is missing, only repeats the name, or is that of another name.
pub(super) fn without_meaning<'a>(meanings: &[(&'a str, &str)]) -> Vec<&'a str> {
    let is_said_once = |meaning: &str| meanings.iter().filter(|(_, other)| *other == meaning).count() == 1;
    let says = |name: &str, meaning: &str| meaning.trim().len() > 3 && meaning != name && is_said_once(meaning);
    meanings.iter().filter(|(name, meaning)| !says(name, meaning)).map(|(name, _)| *name).collect()
}
